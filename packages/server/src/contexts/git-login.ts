/**
 * The access of Git contexts. Every use of a token reads it here. A token of an OAuth app expires, so the server renews it before that. Refresh tokens
 * rotate: the forge may accept each only once. One server at a time asks for a new one, and keeps the old one until the new one is stored.
 */
import { attempt, defined, fault, parseJson, retry, ticks } from '@windlass/kit'
import { shellWord } from '@windlass/plan'
import {
  AppForge,
  isFinalRefusal,
  readRefusal,
  readTokens,
  tokenCall,
  type GitAccess,
  type OauthApp,
  type Tokens,
} from '@windlass/protocol'
import type { App } from '../app.ts'
import { callOut, type Answer } from '../outbound/call.ts'
import { findContext, listContexts, lockContext, updateRenewal } from '../store/account/contexts.ts'
import type { ContextRow } from '../store/schema/schema.ts'
import { expiryOf, openContextData, replaceSecrets } from './context-data.ts'

/**
 * How long a server may take for a renewal before another one sends the same refresh token. Longer than a call of a forge, and than most failures of the
 * database, because only this server has the answer. Shorter than the margin, so that another one can renew the token in time if this one dies. Milliseconds.
 */
const LEASE_MS = 360_000
/** Longest wait for the renewal of another server. Longer than a call of a forge. Milliseconds. */
const WAIT_MS = 20_000
/** Longest time between the renewal and the expiry of a token. Milliseconds. */
const MAX_MARGIN_MS = 600_000
/** Delay after a renewal without an answer, and after one that the forge refused. Milliseconds. */
const RETRY_MS = 30_000
const REFUSED_MS = 3_600_000
/** How often a server looks for tokens to renew. Milliseconds. */
const TICK_MS = 60_000
/** Delay between two looks at the renewal of another server. Milliseconds. */
const LOOK_MS = 200
/** Tries to store tokens that the forge has already issued, for about ten minutes. */
const STORING = { baseMs: 200, maxMs: 10_000, tries: 60 }

export interface GitLogin {
  readonly url: string
  readonly username?: string
  /** Token or password. */
  readonly password?: string
  readonly sshPrivateKey?: string
  readonly sshKnownHosts?: string
  /** When `password` expires. Undefined if the server does not renew it. */
  readonly expiresAt?: number
  /** Set if `password` has expired and cannot be renewed now. `mayRetry`: a later call can succeed. */
  readonly expired?: { readonly problem: string; readonly mayRetry: boolean }
}

/**
 * Returns the access of a Git context, with a token that has not expired if the forge issues one. Waits for a renewal only if the token has expired. A server
 * that closes starts no renewals.
 */
export async function readGitLogin(app: App, context: ContextRow): Promise<GitLogin> {
  const now = app.clock.now()
  if (!isDue(context, now) || app.closing.aborted) return toLogin(app, context, now)
  const isFree = (context.renew_after ?? 0) <= now
  const renewed = isFree ? await app.renewals.run(() => renew(app, context)) : await waitForRenewal(app, context)
  return toLogin(app, renewed ?? context, app.clock.now())
}

/** Returns the access of a Git context for an engine. Throws `not-found`, and `forge-unreachable` or `forge-refused` if its token has expired. */
export async function requireGitAccess(app: App, name: string): Promise<GitAccess> {
  const context = await findContext(app.store.query, app.accountId, name)
  if (context?.type !== 'git') throw fault('not-found', { message: `The Git context "${name}" does not exist.` })
  const { expired, ...login } = await readGitLogin(app, context)
  if (expired === undefined) return toGitAccess(context, login)
  throw fault(expired.mayRetry ? 'forge-unreachable' : 'forge-refused', { message: expired.problem })
}

/** Returns the stored access of a Git context, without renewing its token. */
export function readStoredLogin(app: App, context: ContextRow): GitLogin {
  return toLogin(app, context, app.clock.now())
}

export function toGitAccess({ name, is_default: isDefault }: ContextRow, login: GitLogin): GitAccess {
  const { url, username, password, sshPrivateKey, sshKnownHosts, expiresAt } = login
  const optional = defined({ username, password, sshPrivateKey, sshKnownHosts, expiresAt })
  return { context: name, isDefault: isDefault === 1, url, ...optional }
}

/** Renews tokens before they expire, also those that nothing uses, until the server closes. */
export async function renewLoop(app: App): Promise<void> {
  for await (const _ of ticks(TICK_MS, { clock: app.clock, signal: app.closing, jitter: 0.2 }))
    await attempt(app.log, 'renewal of tokens of Git contexts', async () => {
      const rows = await listContexts(app.store.query, app.accountId)
      for (const row of rows.filter((one) => one.expires_at !== null)) await readGitLogin(app, row)
    })
}

/** Returns true from two thirds of the lifetime of the token on, or ten minutes before its end if that is later. */
function isDue(context: ContextRow, now: number): boolean {
  const expiresAt = expiryOf(context)
  if (expiresAt === null) return false
  const { oauthExpiresIn } = JSON.parse(context.data) as { readonly oauthExpiresIn?: string }
  return now >= expiresAt - Math.min(MAX_MARGIN_MS, (Number(oauthExpiresIn) * 1000) / 3)
}

function toLogin({ vault }: App, context: ContextRow, now: number): GitLogin {
  const { url = '', username, password, sshPrivateKey, sshKnownHosts } = openContextData(vault, context)
  const { problem, refused_at: refusedAt } = context
  const expiresAt = expiryOf(context)
  const login = { url, ...defined({ username, password, sshPrivateKey, sshKnownHosts, expiresAt: expiresAt ?? undefined }) }
  if (expiresAt === null || now < expiresAt) return login
  return { ...login, expired: { problem: problem ?? stillExpired(context), mayRetry: refusedAt === null } }
}

function stillExpired({ name }: ContextRow): string {
  return `The token of the Git context "${name}" has expired, and no server has renewed it yet.`
}

/** Waits until another server has renewed the token, if it has expired. Returns the stored context. */
async function waitForRenewal(app: App, context: ContextRow): Promise<ContextRow | undefined> {
  const { store, clock, accountId, closing } = app
  let latest: ContextRow | undefined = context
  const until = clock.monotonic() + WAIT_MS
  while (latest !== undefined && latest.problem === null && isPast(latest, clock.now()) && clock.monotonic() < until) {
    await clock.sleep(LOOK_MS, closing)
    latest = await findContext(store.query, accountId, context.id)
  }
  return latest
}

function isPast(context: ContextRow, now: number): boolean {
  const expiresAt = expiryOf(context)
  return expiresAt !== null && now >= expiresAt
}

/** Returns true if `renew_after` may be the lease of a renewal in progress, or a delay that the forge asks for. It is not the delay after a refusal. */
export function hasLease({ renew_after: renewAfter, refused_at: refusedAt }: ContextRow): boolean {
  return renewAfter !== null && (refusedAt === null || renewAfter > refusedAt + REFUSED_MS)
}

/** Renews the token unless another server does. Returns the stored context; undefined if it was deleted. */
async function renew(app: App, { id }: ContextRow): Promise<ContextRow | undefined> {
  const { store, accountId, clock } = app
  const taken = await store.write(async (tx) => {
    const row = await lockContext(tx, accountId, id)
    const now = clock.now()
    if (row === undefined || !isDue(row, now) || (row.renew_after ?? 0) > now) return { row, isOurs: false }
    await updateRenewal(tx, id, { renew_after: now + LEASE_MS })
    return { row, isOurs: true }
  })
  if (taken.row === undefined || !taken.isOurs) return taken.row && waitForRenewal(app, taken.row)
  const { row } = taken
  const data = openContextData(app.vault, row)
  const { oauthRefreshToken: used = '' } = data
  const outcome = await requestTokens(app, row.name, data)
  if (outcome.problem !== undefined)
    app.log.warn({ context: row.name, problem: outcome.problem }, 'token of a Git context not renewed')
  await retry({ ...STORING, clock, signal: app.renewals.cut }, () => storeOutcome(app, { id, used, outcome }))
  return findContext(store.query, accountId, id)
}

type Outcome =
  | { readonly tokens: Tokens & { readonly expiresIn: number }; readonly problem?: undefined }
  /** `isRefused`: only a user can help. */
  | { readonly problem: string; readonly afterMs: number; readonly isRefused: boolean }

/** Asks the forge for new tokens. An answer that is lost is an outcome, too: the same refresh token is used again later. */
async function requestTokens(app: App, name: string, data: ReturnType<typeof openContextData>): Promise<Outcome> {
  const { url = '', oauthForge, oauthApp: id = '', oauthSecret: secret, oauthRefreshToken: used = '', oauthExpiresIn } = data
  const forge = AppForge.parse(oauthForge)
  const oauth: OauthApp = { forge, url, id, secret }
  const { url: address, headers, body } = tokenCall(oauth, { grant_type: 'refresh_token', refresh_token: used })
  const target = new URL(address)
  // A server that closes waits for the answer, because it may contain the only valid refresh token.
  const answer = await callOut({ ...app, closing: app.renewals.cut }, { url: target, headers, body })
  const json = answer.body === undefined ? undefined : parseJson(answer.body)
  const tokens = answer.problem === undefined ? readTokens(json) : undefined
  // A forge that names no lifetime has replaced the refresh token all the same.
  if (tokens !== undefined) return { tokens: { ...tokens, expiresIn: tokens.expiresIn ?? Number(oauthExpiresIn) } }
  const code = readRefusal(json)
  if (code === undefined || !isFinalRefusal(code) || (answer.problem !== undefined && answer.mayRetry))
    return toFailure(answer, target.hostname, code)
  const command = `windlass connect git ${shellWord(name)} --forge ${forge} --url ${shellWord(url)} --oauth-app ${shellWord(id)}`
  const problem = `${target.hostname} refuses to renew the token (${code}). Connect again: \`${command}\`.`
  return { problem, afterMs: REFUSED_MS, isRefused: true }
}

/** Returns the outcome of an answer that is neither tokens nor a refusal, such as one of a proxy. */
function toFailure(answer: Answer, host: string, code: string | undefined): Outcome {
  const why = answer.problem ?? `${host} answered ${answer.status} without tokens${code === undefined ? '' : ` (${code})`}.`
  const afterMs = Math.max(RETRY_MS, answer.problem === undefined ? 0 : answer.afterMs)
  return { problem: `The token was not renewed: ${why}`, afterMs, isRefused: false }
}

interface Renewed {
  readonly id: string
  /** The refresh token that was sent. */
  readonly used: string
  readonly outcome: Outcome
}

/** Stores the outcome, unless the context has got another refresh token in the meantime. */
async function storeOutcome(app: App, { id, used, outcome }: Renewed): Promise<void> {
  await app.store.write(async (tx) => {
    const row = await lockContext(tx, app.accountId, id)
    if (row === undefined || openContextData(app.vault, row)['oauthRefreshToken'] !== used) return
    const now = app.clock.now()
    if (outcome.problem !== undefined) {
      const { problem, afterMs, isRefused } = outcome
      return updateRenewal(tx, id, { problem, renew_after: now + afterMs, refused_at: isRefused ? now : null })
    }
    const { accessToken, refreshToken = used, expiresIn } = outcome.tokens
    const sealed = replaceSecrets(await app.vault.sealer(tx), row, { password: accessToken, oauthRefreshToken: refreshToken })
    const data = JSON.stringify({ ...(JSON.parse(sealed) as object), oauthExpiresIn: String(expiresIn) })
    await updateRenewal(tx, id, { data, expires_at: now + expiresIn * 1000, renew_after: null, problem: null, refused_at: null })
  })
}
