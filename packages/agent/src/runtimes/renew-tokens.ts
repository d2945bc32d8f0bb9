/**
 * Renews the tokens of runtime files that expire. The agent asks the cluster of the runtime for a new token of the same account with the one that it
 * has, uses it from the next call on, and stores it where its files come from. Agents that share the files agree by what is stored.
 */
import { isAbort, type Clock, type Logger } from '@windlass/kit'
import { readAccountToken, type AccountToken } from '@windlass/kube'
import type { Cluster, Clusters } from './clusters.ts'
import { attachCommand } from './runtime-files.ts'
import type { TokenStore } from './token-store.ts'

export interface RenewalOptions {
  readonly clusters: Clusters
  readonly store: TokenStore
  readonly clock: Clock
  readonly log: Logger
  /** Interval between checks, and before a failed renewal or write is tried again. Milliseconds. */
  readonly checkMs?: number
  /** Number from 0 to 1 that keeps agents from renewing at the same moment. */
  readonly spread?: number
}

const CHECK_MS = 30_000
/** Maximum size of a token. Tokens of Kubernetes have one to two KiB, and all runtimes of an agent share one Secret of 1 MiB. */
const MAX_TOKEN_CHARS = 16_384
/** Share of the lifetime after which a token is renewed. The rest is for a cluster that is unreachable at the time. */
const RENEW_AFTER = 0.6
/** Share of the lifetime over which agents spread their renewals. */
const SPREAD = 0.1

/** Renews tokens until the signal is aborted. Never rejects. */
export async function renewTokens(options: RenewalOptions, signal: AbortSignal): Promise<void> {
  const { clock, checkMs = CHECK_MS } = options
  const renewal = openTokenRenewal(options)
  while (!signal.aborted) {
    await renewal.check()
    await clock.sleep(checkMs, signal).catch(() => undefined)
  }
}

/** Opens a renewal whose `check` renews and stores every token that is due. A failure is logged, and tried again by the next check. */
export function openTokenRenewal(options: RenewalOptions): { check(): Promise<void> } {
  const renewal = new Renewal(options)
  return { check: async () => void (await Promise.all(options.clusters.all().map((cluster) => renewal.check(cluster)))) }
}

class Renewal {
  readonly #options: RenewalOptions
  readonly #spread: number
  /** By runtime, the tokens that its stored file may still have instead of the renewed one. */
  readonly #unsaved = new Map<string, string[]>()
  /** By runtime, the failure that is already in the log. */
  readonly #reported = new Map<string, string>()

  constructor(options: RenewalOptions) {
    this.#options = options
    this.#spread = options.spread ?? Math.random()
  }

  /** Renews and stores the token of a runtime if it is time. */
  async check(cluster: Cluster): Promise<void> {
    const { name, file } = cluster.entry
    // Kubernetes renews the tokens of the others.
    if (file === undefined) return
    const token = this.#readToken(cluster)
    const about = token === undefined ? undefined : readAccountToken(token)
    if (token === undefined || about === undefined) return
    try {
      if (this.#isDue(about)) await this.#renew(cluster, { file, token, about })
    } catch (error) {
      this.#report(name, error, { token, expiresAt: isoOf(about), text: 'cannot renew the token of the runtime; retrying' })
      return
    }
    try {
      if (this.#unsaved.has(name)) await this.#save(cluster, file)
    } catch (error) {
      const text = 'cannot store the renewed token of the runtime; using it from memory and retrying'
      this.#report(name, error, { token, expiresAt: isoOf(about), text })
      return
    }
    this.#reported.delete(name)
  }

  /** Returns the token of a runtime, or undefined if it has none or its file cannot be read now. */
  #readToken({ entry: { name, access } }: Cluster): string | undefined {
    try {
      return access.token?.()
    } catch (error) {
      const key = `unreadable ${String(error)}`
      if (this.#reported.get(name) !== key)
        this.#options.log.warn({ runtime: name, err: error }, 'cannot read the token of the runtime; retrying')
      this.#reported.set(name, key)
      return undefined
    }
  }

  #isDue({ issuedAt, expiresAt }: AccountToken): boolean {
    const share = RENEW_AFTER + SPREAD * this.#spread
    return this.#options.clock.now() >= issuedAt + share * (expiresAt - issuedAt)
  }

  async #renew(
    { entry, kube }: Cluster,
    { file, token, about }: { file: string; token: string; about: AccountToken },
  ): Promise<void> {
    const { clusters, store, log } = this.#options
    const stored = await store.read(file).catch(() => undefined)
    const isNewer = stored !== undefined && (readAccountToken(stored)?.expiresAt ?? 0) > about.expiresAt
    const next = isNewer ? stored : requireLike(about, (await kube.issueToken(accountOf(about), lifetimeOf(about))).token)
    // A file with another token was read meanwhile.
    if (entry.access.token?.() !== token) return
    clusters.replaceToken(entry.name, next)
    if (isNewer) return log.info({ runtime: entry.name, store: store.name }, 'took the token that another agent renewed')
    this.#unsaved.set(entry.name, [...(this.#unsaved.get(entry.name) ?? []), token])
    const renewed = readAccountToken(next)
    log.info({ runtime: entry.name, ...(renewed && { expiresAt: isoOf(renewed) }) }, 'token renewed')
  }

  async #save({ entry }: Cluster, file: string): Promise<void> {
    const { store, log } = this.#options
    const token = entry.access.token?.() ?? ''
    const result = await store.replace(file, this.#unsaved.get(entry.name) ?? [], token)
    this.#unsaved.delete(entry.name)
    const fields = { runtime: entry.name, file, store: store.name }
    if (result === 'missing')
      log.warn(fields, 'the file of the runtime is not in the store: its renewed token is lost at the next start')
    else
      log.info(fields, result === 'replaced' ? 'renewed token stored' : 'another token was stored meanwhile and takes precedence')
  }

  /** Logs a failure once. After the expiry only the user can help. */
  #report(runtime: string, error: unknown, { token, expiresAt, text }: { token: string; expiresAt: string; text: string }): void {
    if (isAbort(error)) return
    const isExpired = Date.parse(expiresAt) <= this.#options.clock.now()
    const message = error instanceof Error ? error.message : String(error)
    const key = `${isExpired} ${text} ${message}`
    if (this.#reported.get(runtime) === key) return
    this.#reported.set(runtime, key)
    const { log } = this.#options
    const hint = `Attach the runtime again: \`${attachCommand(runtime, token)}\`.`
    if (isExpired) log.error({ runtime, expiresAt, err: error, hint }, 'the token of the runtime has expired')
    else log.warn({ runtime, expiresAt, err: error, hint }, text)
  }
}

/** Returns the issued token. Throws if it is too large or of another account: the cluster of a runtime may be hostile to the others of the agent. */
function requireLike({ namespace, account }: AccountToken, token: string): string {
  if (token.length > MAX_TOKEN_CHARS)
    throw new Error(`the cluster issued a token of ${token.length} characters, more than ${MAX_TOKEN_CHARS}`)
  const issued = readAccountToken(token)
  if (issued?.namespace !== namespace || issued.account !== account)
    throw new Error(`the cluster issued a token that is not of the service account ${namespace}/${account}`)
  return token
}

function accountOf({ namespace, account }: AccountToken): { kind: 'ServiceAccount'; namespace: string; name: string } {
  return { kind: 'ServiceAccount', namespace, name: account }
}

/** Returns the lifetime to ask for: that of the current token. Seconds. */
function lifetimeOf({ issuedAt, expiresAt }: AccountToken): number {
  return Math.round((expiresAt - issuedAt) / 1000)
}

function isoOf({ expiresAt }: AccountToken): string {
  return new Date(expiresAt).toISOString()
}
