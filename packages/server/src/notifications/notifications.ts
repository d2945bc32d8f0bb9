/**
 * Notifications as a resource. A personal one belongs to a user, and only the user sees it. The others belong to the pipelines and projects that they name,
 * and whoever may change notifications in all of these may change them.
 */
import { defined, fault, newId, type Fault } from '@windlass/kit'
import { PatternError } from '@windlass/plan'
import {
  NotificationCreated,
  type Notification,
  type NotificationChange,
  type NotificationInput,
  type NotificationTest,
  type Owner,
} from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { noteDetail } from '../audit/call.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { present } from '../builds/lifecycle/view.ts'
import type { Actor } from '../identity/actor.ts'
import { lockAccount } from '../store/account/accounts.ts'
import {
  countNotifications,
  deleteNotification,
  findMailServer,
  findNotification,
  hasNotificationNamed,
  insertNotification,
  listNotifications,
  updateNotification,
  type Range,
} from '../store/notifications.ts'
import type { NotificationRow } from '../store/schema/schema.ts'
import type { Query, Tx, Within } from '../store/store.ts'
import { checkFilter } from '../triggers/rules/filter.ts'
import { isAllowedRecipient } from './channels/mail.ts'
import { testNotice } from './notice.ts'
import { readReceiver, sealSecret, splitChannel } from './receiver.ts'
import { StoredRule } from './rule.ts'
import { resultOf, sendNotice } from './send.ts'
import { countTargets, isVisible, readTargets, requireTargets, resolveTargets, type Targets } from './targets.ts'

/** Maximum number of notifications of one user, and of those that belong to pipelines and projects. */
const MAX_PERSONAL = 20
const MAX_SHARED = 500
/** Shortest time between two tests of one notification. Milliseconds. */
const TEST_PAUSE_MS = 10_000

/** Returns the user whose personal notifications the caller manages. A key with fewer rights than its owner must not report what it cannot read. */
function personOf(actor: Actor): Owner | undefined {
  if (actor.kind !== 'key' || actor.owner?.kind !== 'user') return undefined
  return actor.isUser === true || actor.isFull === true ? actor.owner : undefined
}

/** Creates a notification. `within` runs in the same transaction. Throws `conflict`, `forbidden`, `not-found`, `request-invalid`. */
export async function createNotification(
  app: App,
  { input, actor }: { readonly input: z.output<typeof NotificationInput>; readonly actor: Actor },
  within?: Within<NotificationCreated>,
): Promise<NotificationCreated> {
  const { name, personal, channel } = input
  const owner = personal ? personOf(actor) : undefined
  if (personal && owner === undefined)
    throw fault('forbidden', { message: 'Only a user, or a key with all rights of a user, can have personal notifications.' })
  if (input.mine && !personal) throw mineIsPersonal()
  checkBranch(input.branch)
  const { receiver, secret } = splitChannel(channel)
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const of = { accountId: app.accountId, ownerId: owner?.id ?? '' }
    const targets = await resolveTargets(app, tx.query, { names: input, actor })
    requireTargets(actor, targets, personal)
    if (await hasNotificationNamed(tx.query, { ...of, name })) throw alreadyExists(name)
    if ((await countNotifications(tx.query, of)) >= (personal ? MAX_PERSONAL : MAX_SHARED)) throw tooMany(personal)
    if (receiver.to !== undefined) await requireRecipients(app, tx.query, receiver.to)
    const now = app.clock.now()
    const id = newId(now)
    const row: NotificationRow = {
      id,
      account_id: app.accountId,
      owner_id: of.ownerId,
      name,
      channel: channel.type,
      receiver: JSON.stringify(receiver),
      rule: JSON.stringify(toRule(input, targets)),
      secret: secret === undefined ? null : sealSecret(await app.vault.sealer(tx), { id, account_id: app.accountId }, secret),
      disabled: input.disabled ? 1 : 0,
      sent_at: null,
      problem: null,
      tested_at: null,
      created_at: now,
      updated_at: now,
    }
    await insertNotification(tx, row)
    noteDetail(`${personal ? 'personal ' : ''}notification ${name} to ${channel.type}`)
    const created = NotificationCreated.parse({ ...show(row, targets), ...defined({ secret: secret?.secret }) })
    await within?.(tx, created)
    return created
  })
}

/** Changes what a notification reports. Throws like `createNotification`. */
export async function changeNotification(
  app: App,
  name: string,
  { change, actor }: { readonly change: NotificationChange; readonly actor: Actor },
): Promise<Notification> {
  checkBranch(change.branch === '' ? undefined : change.branch)
  return app.store.write(async (tx) => {
    const { row, targets: before } = await requireChangeable(app, tx, { name, actor })
    const personal = row.owner_id !== ''
    const stored = StoredRule.parse(JSON.parse(row.rule))
    const found = await resolveTargets(app, tx.query, {
      names: { pipelines: change.pipelines ?? [], projects: change.projects ?? [] },
      actor,
    })
    const targets = {
      pipelines: change.pipelines === undefined ? before.pipelines : found.pipelines,
      projects: change.projects === undefined ? before.projects : found.projects,
    }
    // The others were checked before, and may have been deleted.
    requireTargets(actor, personal || countTargets(found) > 0 ? found : targets, personal)
    if (change.mine === true && !personal) throw mineIsPersonal()
    const branch = change.branch === undefined ? stored.branch : change.branch === '' ? undefined : change.branch
    const rule = { on: change.on ?? stored.on, mine: change.mine ?? stored.mine, ...defined({ branch }) }
    const changed: Partial<NotificationRow> = {
      rule: JSON.stringify(toRule(rule, targets)),
      updated_at: app.clock.now(),
      ...(change.disabled !== undefined && { disabled: change.disabled ? 1 : 0 }),
    }
    await updateNotification(tx, row.id, changed)
    return show({ ...row, ...changed }, targets)
  })
}

/** Deletes a notification. Throws `not-found`, `forbidden`. */
export async function removeNotification(app: App, name: string, actor: Actor): Promise<void> {
  await app.store.write(async (tx) => deleteNotification(tx, (await requireChangeable(app, tx, { name, actor })).row.id))
}

/** Returns a notification that the caller may see. Throws `not-found`. */
export async function showNotification(app: App, name: string, actor: Actor): Promise<Notification> {
  const { row, targets } = await requireVisible(app, app.store.query, { name, actor })
  return show(row, targets)
}

/** Lists the notifications that the caller may see, oldest first. A page can have fewer than `limit` items and be followed by another one. */
export async function listNotificationPage(
  app: App,
  range: Range,
  actor: Actor,
): Promise<{ readonly items: Notification[]; readonly next?: string }> {
  const { query } = app.store
  const rows = await listNotifications(query, { accountId: app.accountId, ownerId: personOf(actor)?.id ?? '', ...range })
  const items: Notification[] = []
  for (const row of rows) {
    const targets = await readTargets(query, row)
    if (isVisible(actor, row, targets)) items.push(show(row, targets))
  }
  return { items, ...present({ next: rows.length === range.limit ? rows.at(-1)?.id : undefined }) }
}

/** Sends a test message at once, whether the notification is disabled or not. Throws `not-found`, `forbidden`, `rate-limited`. */
export async function testNotification(app: App, name: string, actor: Actor): Promise<NotificationTest> {
  const now = app.clock.now()
  const row = await app.store.write(async (tx) => {
    const found = (await requireChangeable(app, tx, { name, actor })).row
    const waitMs = (found.tested_at ?? 0) + TEST_PAUSE_MS - now
    if (waitMs > 0)
      throw fault('rate-limited', {
        message: `The notification "${found.name}" was tested a moment ago.`,
        hint: `Wait ${Math.ceil(waitMs / 1000)} s, then test it again.`,
        retryAfter: Math.ceil(waitMs / 1000),
      })
    await updateNotification(tx, found.id, { tested_at: now })
    return found
  })
  const notice = testNotice(app, row)
  const each = (readReceiver(row).to ?? [undefined]).map((to) => sendNotice(app, row, { notice, id: newId(now), to }))
  const problem = (await Promise.all(each)).find((sent) => sent.problem !== null)?.problem ?? null
  await app.store.write((tx) => updateNotification(tx, row.id, resultOf({ problem }, app.clock.now())))
  return { sent: problem === null, ...present({ problem }) }
}

interface Named {
  readonly name: string
  readonly actor: Actor
}

interface Found {
  readonly row: NotificationRow
  readonly targets: Targets
}

async function requireVisible(app: App, query: Query, { name, actor }: Named): Promise<Found> {
  const of = { accountId: app.accountId, ownerId: personOf(actor)?.id ?? '', name }
  const row = requireFound(await findNotification(query, of), `notification "${name}"`)
  const targets = await readTargets(query, row)
  if (!isVisible(actor, row, targets)) throw fault('not-found', { message: `Notification "${name}" does not exist.` })
  return { row, targets }
}

async function requireChangeable(app: App, tx: Tx, named: Named): Promise<Found> {
  const found = await requireVisible(app, tx.query, named)
  if (found.row.owner_id === '') requireTargets(named.actor, found.targets, false)
  return found
}

function toRule({ on, mine, branch }: Pick<StoredRule, 'on' | 'mine' | 'branch'>, targets: Targets): StoredRule {
  return {
    on: [...new Set(on)],
    mine,
    pipelines: targets.pipelines.map(({ id }) => id),
    projects: targets.projects.map(({ id }) => id),
    ...defined({ branch }),
  }
}

function show(row: NotificationRow, { pipelines, projects }: Targets): Notification {
  const rule = StoredRule.parse(JSON.parse(row.rule))
  return {
    id: row.id,
    name: row.name,
    personal: row.owner_id !== '',
    channel: { type: row.channel, ...readReceiver(row) },
    on: rule.on,
    mine: rule.mine,
    pipelines: pipelines.map(({ name }) => name),
    projects: projects.map(({ name }) => name),
    disabled: row.disabled === 1,
    createdAt: row.created_at,
    ...present({ branch: rule.branch, sentAt: row.sent_at, problem: row.problem }),
  }
}

async function requireRecipients(app: App, query: Query, to: readonly string[]): Promise<void> {
  const server = await findMailServer(query, app.accountId)
  if (server === undefined)
    throw fault('request-invalid', {
      message: 'This installation has no mail server.',
      hint: 'Ask an admin to set one with `windlass set mail-server`.',
    })
  const refused = to.find((address) => !isAllowedRecipient(server, address))
  if (refused !== undefined)
    throw fault('request-invalid', {
      message: `The mail server may not send to ${refused}.`,
      hint: 'Use an address in one of the domains that `windlass get mail-server` shows to admins.',
    })
}

function checkBranch(filter: string | undefined): void {
  if (filter === undefined) return
  try {
    checkFilter(filter)
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    const message = `branch cannot be used: ${error.message}.`
    throw fault('request-invalid', { message, problems: [{ path: 'branch', message }] })
  }
}

function mineIsPersonal(): Fault {
  return fault('request-invalid', {
    message: '`mine` applies to personal notifications only.',
    hint: 'Set `personal`, or name pipelines and projects.',
  })
}

function alreadyExists(name: string): Fault {
  return fault('conflict', {
    message: `The notification "${name}" already exists.`,
    hint: 'Use another name, or delete the existing one.',
  })
}

function tooMany(personal: boolean): Fault {
  return fault('request-invalid', {
    message: personal
      ? `You already have ${MAX_PERSONAL} personal notifications.`
      : `There are already ${MAX_SHARED} notifications.`,
    hint: 'Delete one, or let one report more pipelines.',
  })
}
