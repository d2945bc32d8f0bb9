/** Finds the notifications that report what happened to a build, and stores a message for each receiver. */
import { sha256 } from '@windlass/kit'
import { z } from 'zod'
import type { App } from '../app.ts'
import { readRequest } from '../builds/create/request.ts'
import type { Sent } from '../outbox/sender.ts'
import { findBuild, findBuildRequest, findEarlierResult } from '../store/builds/builds.ts'
import { listActiveNotifications } from '../store/notifications.ts'
import { deleteMessage, putMessage } from '../store/messages.ts'
import type { BuildRow, MessageRow, NotificationRow } from '../store/schema/schema.ts'
import type { Query, Tx } from '../store/store.ts'
import { findOwner, mayKnow } from './audience.ts'
import { readReceiver } from './receiver.ts'
import { matchesRule, StoredRule, type Happening } from './rule.ts'

/** Body of a message of the kind `notice`. */
const NoticeBody = z.object({ step: z.string().optional() })

/** Notifications that are read at once, and messages per transaction. */
const BATCH = 200
/** How many restarts are followed to the build that was repeated. */
const MAX_RESTARTS = 20

/** Sends a message of the kind `notice`: replaces it by the messages of the notifications that match. */
export async function fanOut(app: App, message: MessageRow): Promise<Sent> {
  const { store, accountId } = app
  const build = await findBuild(store.query, accountId, message.build_id ?? '')
  if (build !== undefined) {
    const happening = await whatHappened(store.query, build, NoticeBody.parse(JSON.parse(message.body)))
    const isQuiet = await isQuietBuild(store.query, build)
    for (let after: string | undefined; ;) {
      const rows = await listActiveNotifications(store.query, { accountId, after, limit: BATCH })
      const matching = await selectMatching(store.query, rows, { build, happening, isQuiet })
      if (matching.length > 0)
        await store.write(async (tx) => {
          for (const row of matching) await putNotifications(tx, row, { build, happening, now: app.clock.now() })
        })
      after = rows.at(-1)?.id
      if (rows.length < BATCH) break
    }
  }
  // A server that is killed before this stores the same messages again, which changes nothing.
  await store.write((tx) => deleteMessage(tx, message.id))
  return { problem: null }
}

async function whatHappened(query: Query, build: BuildRow, { step }: z.output<typeof NoticeBody>): Promise<Happening> {
  if (step !== undefined) return { type: 'build.waiting', step }
  if (build.status === 'error') return { type: 'build.failed' }
  if (build.status === 'terminated') return { type: 'build.terminated' }
  return { type: (await findEarlierResult(query, build)) === 'error' ? 'build.recovered' : 'build.succeeded' }
}

/** Returns true for a build that a user started without `enableNotifications`, and for its restarts. */
async function isQuietBuild(query: Query, build: BuildRow): Promise<boolean> {
  const stored = await findBuildRequest(query, build.id)
  if (stored !== undefined && readRequest(stored).enableNotifications) return false
  let first: BuildRow | undefined = build
  for (let n = 0; n < MAX_RESTARTS && first?.trigger === 'restart' && first.restart_of !== null; n += 1)
    first = await findBuild(query, build.account_id, first.restart_of)
  return first === undefined || first.trigger === 'manual' || first.trigger === 'restart'
}

interface Found {
  readonly build: BuildRow
  readonly happening: Happening
  readonly isQuiet: boolean
}

async function selectMatching(
  query: Query,
  rows: readonly NotificationRow[],
  { build, happening, isQuiet }: Found,
): Promise<NotificationRow[]> {
  const matching: NotificationRow[] = []
  for (const row of rows) {
    const rule = StoredRule.parse(JSON.parse(row.rule))
    if (row.owner_id === '') {
      // A step that waits needs its decision whoever has started the build.
      const isTold = !isQuiet || happening.type === 'build.waiting'
      if (isTold && matchesRule(rule, happening, { build, owner: undefined })) matching.push(row)
      continue
    }
    // Most notifications do not match, and need no roles to be read.
    if (!rule.mine && !matchesRule(rule, happening, { build, owner: undefined })) continue
    const owner = await findOwner(query, row)
    if (owner !== undefined && mayKnow(owner, build, happening) && matchesRule(rule, happening, { build, owner: owner.name }))
      matching.push(row)
  }
  return matching
}

interface Put {
  readonly build: BuildRow
  readonly happening: Happening
  readonly now: number
}

/** Stores one message for each receiver: a mail server can refuse one address and accept another. */
async function putNotifications(tx: Tx, row: NotificationRow, { build, happening, now }: Put): Promise<void> {
  const about = happening.step === undefined ? 'end' : `waiting:${happening.step}`
  for (const to of readReceiver(row).to ?? [undefined])
    await putMessage(tx, {
      accountId: row.account_id,
      key: ['notification', row.id, build.id, about, ...(to === undefined ? [] : [sha256(to)])].join(':'),
      kind: 'notification',
      buildId: build.id,
      subject: `${row.owner_id === '' ? `notification ${row.name}` : 'personal notification'} about build ${build.number}`,
      body: { notification: row.id, ...happening, to },
      now,
    })
}
