/** Webhooks: the addresses that forges and registries call. */
import { fault, newId } from '@windlass/kit'
import { ProxyIntegration, WebhookCreated, type Webhook, type WebhookInput } from '@windlass/protocol'
import { randomBytes } from 'node:crypto'
import type { App } from '../app.ts'
import { noteSubject } from '../audit/call.ts'
import { present } from '../builds/lifecycle/view.ts'
import { webhookPlace } from '../secrets/places.ts'
import { deletePolledReposOf, listPolledReposOf } from '../store/triggers/branch-heads.ts'
import { deleteWebhook, findWebhook, insertWebhook, listWebhooks } from '../store/triggers/webhooks.ts'
import type { WebhookRow } from '../store/schema/schema.ts'
import type { Within } from '../store/store.ts'
import { showSender } from './deliveries/sender.ts'

/** Creates a webhook with the given or a random secret. `within` runs in the same transaction. Throws `conflict` if the name is taken. */
export async function createWebhook(app: App, input: WebhookInput, within?: Within<WebhookCreated>): Promise<WebhookCreated> {
  const secret = input.secret ?? randomBytes(32).toString('base64url')
  const { context, forge, appProxy, polls = context !== undefined && forge !== undefined && appProxy === undefined } = input
  if (polls && context === undefined)
    throw fault('request-invalid', {
      message: 'A webhook without a Git context cannot poll, because it has no token.',
      hint: 'Add `context`, or omit `polls`.',
    })
  if (polls && appProxy !== undefined)
    throw fault('request-invalid', {
      message: 'A webhook with an app-proxy cannot poll, because the server does not reach its forge.',
      hint: 'Omit `polls`, or `appProxy`.',
    })
  if (appProxy !== undefined && forge === undefined)
    throw fault('request-invalid', { message: 'A webhook of a registry has no commit statuses that an app-proxy could set.' })
  if (polls && forge === undefined)
    throw fault('request-invalid', { message: 'A webhook of a registry cannot poll, because a registry has no branches.' })
  return app.store.write(async (tx) => {
    if ((await findWebhook(tx.query, app.accountId, input.name)) !== undefined)
      throw fault('conflict', {
        message: `The webhook "${input.name}" already exists.`,
        hint: 'Use another name, or delete the existing one.',
      })
    const now = app.clock.now()
    const owner = { id: newId(now), account_id: app.accountId }
    const row: WebhookRow = {
      ...owner,
      name: input.name,
      forge: requireSender(input),
      context: context ?? null,
      polls: polls ? 1 : 0,
      app_proxy: appProxy === undefined ? null : JSON.stringify(appProxy),
      repo: input.repo?.toLowerCase() ?? null,
      secret: (await app.vault.sealer(tx)).seal(webhookPlace(owner), secret),
      created_at: now,
    }
    await insertWebhook(tx, row)
    noteSubject(`webhook ${row.name} of ${row.forge}${row.repo === null ? '' : ` for ${row.repo}`}`)
    const created = WebhookCreated.parse({ ...showWebhook(app, row), secret })
    await within?.(tx, created)
    return created
  })
}

/** The schema of the input makes sure that there is one. */
function requireSender({ forge, registry }: WebhookInput): WebhookRow['forge'] {
  const sender = forge ?? registry
  if (sender === undefined) throw fault('request-invalid', { message: 'The webhook must have a forge or a registry.' })
  return sender
}

/** Converts a webhook for the API, without its secret. */
export function showWebhook(app: App, row: WebhookRow): Webhook {
  return {
    id: row.id,
    name: row.name,
    ...showSender(row.forge),
    url: `${app.advertisedUrl()}/v1/webhooks/${row.id}/deliveries`,
    polls: row.polls === 1 && row.context !== null,
    createdAt: row.created_at,
    ...present({ context: row.context, repo: row.repo }),
    ...(row.app_proxy !== null && { appProxy: ProxyIntegration.parse(JSON.parse(row.app_proxy)) }),
  }
}

/** Converts a webhook for the API, with the repositories that are polled. */
export async function describeWebhook(app: App, row: WebhookRow): Promise<Webhook> {
  const repos = await listPolledReposOf(app.store.query, row.id)
  return {
    ...showWebhook(app, row),
    polled: repos.map(({ name, polled_at: polledAt, problem }) => ({ repo: name, ...present({ polledAt, problem }) })),
  }
}

export async function listWebhookPage(app: App, range: { after: string | undefined; limit: number }): Promise<Webhook[]> {
  const rows = await listWebhooks(app.store.query, { accountId: app.accountId, ...range })
  return rows.map((row) => showWebhook(app, row))
}

/** Deletes a webhook by id or name. Throws `not-found`. */
export async function removeWebhook(app: App, name: string): Promise<void> {
  await app.store.write(async (tx) => {
    const row = await findWebhook(tx.query, app.accountId, name)
    if (row === undefined) throw fault('not-found', { message: `The webhook "${name}" does not exist.` })
    await deleteWebhook(tx, row.id)
    await deletePolledReposOf(tx, row.id)
  })
}
