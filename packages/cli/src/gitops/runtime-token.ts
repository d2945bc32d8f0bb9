/**
 * The token of a GitOps runtime. It is in a Secret of the namespace of the runtime, with the random text that is a part of the key of Git tokens. A valid one is kept,
 * so that every installation can run again. A token of another installation is never sent to the server.
 */
import { randomBytes } from 'node:crypto'
import { appProxyCalls } from '@windlass/client/app-proxy'
import type { ApiClient } from '@windlass/client'
import { defined } from '@windlass/kit/defined'
import { fault, isFault, type Fault } from '@windlass/kit/faults'
import { parseBaseUrl, type GitopsAccess, type GitopsTokenInput } from '@windlass/protocol'
import { orUndefined } from '../session/session.ts'
import { foreignToken, isOwnToken, type StoredToken, type TokenStore } from './token-secret.ts'

export interface Registration {
  /** With the key of an admin. */
  readonly client: ApiClient
  readonly store: TokenStore
  readonly runtime: string
  /** URL of the server for the cluster. */
  readonly server: string
  /** True if the runtime is reached through a tunnel, for which the server needs a domain. */
  readonly needsTunnel: boolean
  /** True to take over an existing runtime that is offline, and to replace a token of another installation. */
  readonly recover: boolean
  /** What the server learns of a GitOps runtime with a new token, so that it tells callers where the runtime is. Default: nothing. */
  readonly place?: RuntimePlace | undefined
  /** Expected account; not checked if absent. */
  readonly accountId?: string | undefined
}

export interface RuntimePlace {
  readonly namespace: string
  /** URL that the values name; undefined for a tunnel. */
  readonly url: string | undefined
  /** True for a runtime in the cluster of the server. Default: false. */
  readonly isHosted?: boolean | undefined
}

export interface Registered {
  readonly accountId: string
  /** Where callers reach the runtime; undefined if the server has no domain for tunnels. */
  readonly url: string | undefined
  /** True if this call created the token. */
  readonly isNew: boolean
  /** Name of the Secret with the token of another installation that this call replaced. */
  readonly replaced?: string | undefined
}

/** How often a registration begins again because another process has written the Secret. */
const MAX_TRIES = 3

/**
 * Keeps a valid token, or creates one and the runtime. Several processes can do this for one Secret at the same time, such as the pods of an app-proxy: all get the token of
 * the first one. Throws `conflict` if the name belongs to another installation, or the Secret does and `recover` is false, and `config-invalid` for another account or a
 * server without tunnels; then no new token stays.
 */
export async function ensureRuntimeToken(registration: Registration): Promise<Registered> {
  for (let tries = 1; ; tries += 1) {
    const registered = await register(registration)
    if (registered !== undefined) return registered
    if (tries >= MAX_TRIES)
      throw fault('conflict', {
        message: `Other processes change the Secret ${registration.store.name} of the namespace all the time.`,
        hint: 'Repeat the installation when they have ended.',
      })
  }
}

/** Returns undefined if another process has written the Secret meanwhile. */
async function register(registration: Registration): Promise<Registered | undefined> {
  const { client, store, runtime, server, recover } = registration
  const stored = await store.read()
  const owner = { runtime, server }
  const isForeign = stored !== undefined && !isOwnToken(stored, runtime, [server])
  if (isForeign && !recover) throw foreignToken(stored, store, owner)
  const kept = isForeign ? undefined : await keepValid(registration, stored)
  if (kept !== undefined) return kept
  const before = await orUndefined(client.tunnels.get(runtime))
  if (before !== undefined && (before.status !== 'offline' || !recover)) throw nameInUse(runtime, before.status)
  const created = await client.gitopsRuntimes.createToken(runtime, toTokenInput(registration))
  try {
    const { accountId } = requireAccess(await accessWith(client, runtime, created.token), runtime)
    requireFacts(registration, accountId, created.url)
    const replaced = isForeign ? await store.copy() : undefined
    if (await store.write({ token: created.token, iv: stored?.iv ?? newIv(), owner }, stored))
      return { accountId, url: created.url, isNew: true, replaced }
  } catch (error) {
    // The first failure is the one to report.
    await undo(registration, created.id, before === undefined).catch(() => undefined)
    throw error
  }
  await undo(registration, created.id, false)
  return undefined
}

/** Deletes a token, and its runtime if that has no other token: another process may have created one for it. */
async function undo({ client, runtime }: Registration, tokenId: string, isNew: boolean): Promise<void> {
  await client.gitopsRuntimes.deleteToken(runtime, tokenId)
  if (isNew && (await client.gitopsRuntimes.tokens(runtime)).items.length === 0) await client.gitopsRuntimes.delete(runtime)
}

function toTokenInput({ place, needsTunnel }: Registration): GitopsTokenInput {
  if (place === undefined) return {}
  const { namespace, url, isHosted } = place
  const hosted = isHosted === true ? ({ type: 'HELM_HOSTED', isManaged: true } as const) : {}
  const installation = { namespace, accessMode: needsTunnel ? 'TUNNEL' : 'INGRESS', ...hosted } as const
  return { installation: { ...installation, ...defined({ ingressUrl: url && parseBaseUrl(url) }) } }
}

/** Returns the runtime of a stored token that the server accepts; undefined for another one. */
async function keepValid(registration: Registration, stored: StoredToken | undefined): Promise<Registered | undefined> {
  const { client, store, runtime, server } = registration
  const token = stored?.token
  const access = token === undefined ? undefined : await accessWith(client, runtime, token)
  if (token === undefined || access === undefined) return undefined
  const { url } = await client.tunnels.get(runtime)
  requireFacts(registration, access.accountId, url)
  // Another process that has written meanwhile has done the same.
  if (stored?.iv === undefined) await store.write({ token, iv: newIv(), owner: { runtime, server } }, stored)
  return { accountId: access.accountId, url, isNew: false }
}

/** Returns what the owner of the client may do at the runtime; undefined if the token is not one of the runtime. */
export async function accessWith(client: ApiClient, runtime: string, runtimeToken: string): Promise<GitopsAccess | undefined> {
  try {
    return await appProxyCalls(client).access(runtime, { runtimeToken }, { timeoutMs: 15_000 })
  } catch (error) {
    if (isFault(error, 'runtime-token-invalid', 'request-invalid')) return undefined
    throw error
  }
}

function requireAccess(access: GitopsAccess | undefined, runtime: string): GitopsAccess {
  if (access !== undefined) return access
  throw fault('runtime-token-invalid', {
    message: `The server refuses the token that it has created for the GitOps runtime "${runtime}".`,
  })
}

function requireFacts({ accountId: expected, needsTunnel }: Registration, accountId: string, url: string | undefined): void {
  if (expected !== undefined && expected !== accountId)
    throw fault('config-invalid', {
      message: `The account id is ${expected}, but the API key belongs to the account ${accountId}.`,
      hint: `Set global.codefresh.accountId to ${accountId}, or use a key of the other account.`,
    })
  if (needsTunnel && url === undefined)
    throw fault('config-invalid', {
      message: 'The server has no domain for tunnels.',
      hint: 'Set WINDLASS_SERVER_TUNNEL_DOMAIN on the server, or install with an ingress: `--ingress-host`.',
    })
}

function nameInUse(runtime: string, status: string): Fault {
  return fault('conflict', {
    message: `A GitOps runtime "${runtime}" exists, and this namespace has no token of it (its tunnel is ${status}).`,
    hint:
      status === 'offline'
        ? 'Choose another name. If the runtime is the same one, add `--recover`, or `installer.recover: true` in the chart.'
        : 'Choose another name: another installation uses this one.',
  })
}

/** Returns a random text of 32 characters. */
function newIv(): string {
  return randomBytes(24).toString('base64')
}
