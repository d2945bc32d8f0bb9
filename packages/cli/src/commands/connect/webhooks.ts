/**
 * The webhooks of the server and those of the forge, which share an address and a secret. The server shows a secret only once, and no forge shows it. If
 * one side is missing, both are therefore created anew, under another address.
 */
import type { ApiClient } from '@windlass/client'
import { defined } from '@windlass/kit/defined'
import type { ForgeHook } from '@windlass/forges'
import type { ProxyIntegration, Webhook } from '@windlass/protocol'
import type { HookApi } from '../../forges/hooks.ts'
import type { ConnectedForgeName } from '../../role-names.ts'
import { orUndefined } from '../../session/session.ts'

/** A webhook that the command has made or found. */
export interface Connected {
  readonly name: string
  /** The address that the forge calls. */
  readonly url: string
  readonly state: 'created' | 'replaced' | 'unchanged'
  readonly repo?: string
  /** What became of it at the forge; absent without a repository. */
  readonly hook?: 'created' | 'updated'
  /** Present if it has to be entered at the forge by hand. */
  readonly secret?: string
}

interface OpenWebhook {
  readonly appProxy: ProxyIntegration | undefined
  readonly name: string
  readonly forge: ConnectedForgeName
  readonly newSecret: boolean
}

/** Creates the webhook of a context that accepts events of all repositories, unless it exists. */
export async function createOpenWebhook(
  client: ApiClient,
  { name, forge, newSecret, appProxy }: OpenWebhook,
): Promise<Connected> {
  const existing = await orUndefined(client.webhooks.get(name))
  const isSame = existing?.forge === forge && existing.context === name && existing.repo === undefined
  const isKept = isSame && hasProxy(existing, appProxy) && !newSecret
  if (isKept) return { name, url: existing.url, state: 'unchanged' }
  if (existing !== undefined) await client.webhooks.delete(existing.id)
  const { url, secret } = await client.webhooks.create({ name, forge, context: name, ...defined({ appProxy }) })
  return { name, url, state: existing === undefined ? 'created' : 'replaced', secret }
}

interface RepoConnection {
  readonly client: ApiClient
  readonly api: HookApi
  readonly context: string
  /** App-proxy that reaches the forge. */
  readonly appProxy: ProxyIntegration | undefined
  readonly forge: ConnectedForgeName
  readonly repo: string
  /** The webhooks of the repository at the forge. */
  readonly hooks: readonly ForgeHook[]
  readonly newSecret: boolean
}

/** Gives a repository a webhook of its own, which accepts only its events. An interrupted call leaves nothing that the next one does not find. */
export async function connectRepo(connection: RepoConnection): Promise<Connected> {
  const { client, api, context, appProxy, forge, repo, hooks, newSecret } = connection
  const name = `${context}/${repo}`
  const existing = await orUndefined(client.webhooks.get(name))
  const isSame = existing?.forge === forge && existing.context === context && existing.repo === repo.toLowerCase()
  const hook = isSame && hasProxy(existing, appProxy) && !newSecret ? hooks.find(({ url }) => url === existing.url) : undefined
  if (existing !== undefined && hook !== undefined) {
    await api.refresh(repo, hook)
    return { name, url: existing.url, state: 'unchanged', repo, hook: 'updated' }
  }
  if (existing !== undefined) await client.webhooks.delete(existing.id)
  const { id, url, secret } = await client.webhooks.create({ name, forge, context, repo, ...defined({ appProxy }) })
  await api.create(repo, { url, secret })
  const old = await findOrphans(client, { hooks, existing, base: url.slice(0, -pathOf(id).length) })
  for (const each of old) await api.remove(repo, each)
  return {
    name,
    url,
    state: existing === undefined ? 'created' : 'replaced',
    repo,
    hook: old.length === 0 ? 'created' : 'updated',
  }
}

function hasProxy({ appProxy }: Webhook, wanted: ProxyIntegration | undefined): boolean {
  return appProxy?.runtime === wanted?.runtime && appProxy?.integration === wanted?.integration
}

function pathOf(id: string): string {
  return `/v1/webhooks/${id}/deliveries`
}

interface Orphans {
  readonly hooks: readonly ForgeHook[]
  /** The webhook of the server that was replaced. */
  readonly existing: Webhook | undefined
  /** Base URL of the server. */
  readonly base: string
}

/** Returns webhooks of the forge that call a webhook of this server that does not exist anymore. */
async function findOrphans(client: ApiClient, { hooks, existing, base }: Orphans): Promise<ForgeHook[]> {
  const found: ForgeHook[] = []
  for (const hook of hooks) {
    const id = /\/v1\/webhooks\/([0-9a-f]{24})\/deliveries$/.exec(hook.url)?.[1]
    if (id === undefined) continue
    const isReplaced = id === existing?.id
    const isOurs = hook.url === `${base}${pathOf(id)}`
    if (isReplaced || (isOurs && (await orUndefined(client.webhooks.get(id))) === undefined)) found.push(hook)
  }
  return found
}
