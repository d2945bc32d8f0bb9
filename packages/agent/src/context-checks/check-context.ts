/**
 * Checks a context with its credentials, on request of the server. The credentials come with the job and are kept only while it runs. Nothing that was
 * read is reported but the name of the user, and a message that contains a credential is masked.
 */
import { defined, isFault, parseJson, type Clock } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { CONTEXT_CHECK_REASONS, registryHost, type CheckedTarget, type ContextCheckResult } from '@windlass/protocol'
import type { ContextCheckJob, Executor } from '../executor.ts'
import { failureMessage } from '../failure-message.ts'
import { checkCluster, readClusterLogin } from './cluster.ts'
import { openDialer, type Dialer } from './dial.ts'
import { checkGit } from './git.ts'
import { CheckFailure, type Reached } from './outcome.ts'
import { checkRegistry } from './registry.ts'
import { checkObject, checkStore } from './secret-store.ts'
import { checkSsh, readSshPlace } from './ssh.ts'

export interface ContextCheckParts {
  readonly executor: Executor
  readonly clock: Clock
  /** PEM file with additional certificate authorities. */
  readonly caFile?: string | undefined
}

/** Longest time of a check. Milliseconds. */
const LIMIT_MS = 30_000
/** Settings of the Docker daemons of a namespace: an optional ConfigMap. */
const DAEMON_SETTINGS = { kind: 'ConfigMap', name: 'codefresh-dind-config', key: 'daemon.json' } as const

/** Never throws for a check that fails. Throws the reason of the signal if it is aborted. */
export async function checkContext(
  job: ContextCheckJob,
  parts: ContextCheckParts,
  signal: AbortSignal,
): Promise<ContextCheckResult> {
  const { clock } = parts
  const startedAt = clock.monotonic()
  const limit = AbortSignal.timeout(LIMIT_MS)
  const clean = cleaner(job.target)
  const tookMs = (): number => Math.max(0, Math.round(clock.monotonic() - startedAt))
  try {
    const { message, hint, host, identity } = await run(job, parts, AbortSignal.any([signal, limit]))
    const found = { hint: clean(hint, 1000), host: clean(host, 300), identity: clean(identity, 200) }
    return { outcome: 'reached', message: clean(message, 1000) ?? '', ...defined(found), tookMs: tookMs() }
  } catch (error) {
    signal.throwIfAborted()
    const { reason, message, hint, host } = limit.aborted
      ? new CheckFailure('timeout', `The check took longer than ${LIMIT_MS / 1000} s.`)
      : toCheckFailure(error)
    const found = { hint: clean(hint, 1000), host: clean(host, 300) }
    const outcome = CONTEXT_CHECK_REASONS[reason]
    return { outcome, reason, message: clean(message, 1000) ?? '', ...defined(found), tookMs: tookMs() }
  }
}

function toCheckFailure(error: unknown): CheckFailure {
  return error instanceof CheckFailure ? error : new CheckFailure('check-failed', `The check failed: ${failureMessage(error)}`)
}

async function run(
  { target, runtime, namespace }: ContextCheckJob,
  parts: ContextCheckParts,
  signal: AbortSignal,
): Promise<Reached> {
  const { executor, caFile } = parts
  // In a pod, a loopback address is that of the agent, which no build can reach.
  const mayUseLoopback = executor.kind !== 'kubernetes'
  const dial = (hosts: readonly string[]): Dialer => openDialer({ hosts, mayUseLoopback, caFile, signal })
  switch (target.type) {
    case 'git': {
      const url = readHttpUrl(target.url)
      if (url !== undefined) return checkGit(target, url, dial([url.host]))
      const place = readSshPlace(target.url)
      if (place !== undefined) return checkSsh({ ...target, place, mayUseLoopback, signal })
      throw invalid('url', 'Use the form `https://git.example.com`, `ssh://git@git.example.com` or `git@git.example.com`.')
    }
    case 'registry': {
      const host = registryHost(target.domain)
      if (host === undefined)
        throw invalid('domain', 'Use the host of the registry with its port, such as `registry.example.com:5000`.')
      const dialer = dial(['https', 'http'].map((scheme) => new URL(`${scheme}://${host}`).host))
      const readInsecure = (): Promise<readonly string[]> => readInsecureRegistries(executor, { runtime, namespace }, signal)
      return checkRegistry({ target, host, dialer, readInsecure })
    }
    case 'kubernetes': {
      const login = readClusterLogin(target.kubeconfig)
      return checkCluster(login, openDialer({ hosts: [login.url.host], mayUseLoopback, tls: login.tls, signal }))
    }
    case 'secret-store': {
      const url = readHttpUrl(target.url)
      if (url === undefined) throw invalid('url', 'Use the form `https://vault.example.com:8200`.')
      return checkStore(target, url, dial([url.host]))
    }
    case 'cluster-object':
      return checkObject({ target, runtime, namespace, executor, signal })
  }
}

function invalid(field: string, hint: string): CheckFailure {
  return new CheckFailure('value-invalid', `The ${field} of the context is not one that builds can use.`, { hint })
}

/** Returns the URL without user name and password. Undefined for other schemes. */
function readHttpUrl(text: string): URL | undefined {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null
  if (url === null) return undefined
  url.username = ''
  url.password = ''
  return url
}

interface RuntimePlace {
  readonly runtime: string
  readonly namespace: string | undefined
}

/** Returns the registries that the daemons of a namespace use without TLS or with any certificate. None if their settings cannot be read. */
async function readInsecureRegistries(
  { readData }: Pick<Executor, 'readData'>,
  { runtime, namespace }: RuntimePlace,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (readData === undefined || namespace === undefined) return []
  const { kind, name, key } = DAEMON_SETTINGS
  const data = await readData({ runtime, namespace, kind, name }, signal).catch((error: unknown) => {
    if (isFault(error)) return undefined
    throw error
  })
  const settings = parseJson(data?.[key] ?? '')
  const registries = isRecord(settings) ? settings['insecure-registries'] : undefined
  return Array.isArray(registries) ? registries.map(String) : []
}

/** Shorter values are too common to be masked. */
const MIN_MASKED = 4

/** Returns a function that cuts a text, and masks credentials and control characters in it. */
function cleaner(target: CheckedTarget): (text: string | undefined, length: number) => string | undefined {
  const secrets = secretsOf(target).filter((secret) => secret.length >= MIN_MASKED)
  return (text, length) => {
    if (text === undefined) return undefined
    const masked = secrets.reduce((all, secret) => all.replaceAll(secret, '*****'), text)
    return masked.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, length)
  }
}

function secretsOf(target: CheckedTarget): readonly string[] {
  switch (target.type) {
    case 'git':
    case 'registry': {
      const { username = '', password } = target
      return password === undefined ? [] : [password, ...[username, ''].map((name) => base64(`${name}:${password}`))]
    }
    case 'secret-store':
      return [target.token]
    case 'kubernetes':
      try {
        return readClusterLogin(target.kubeconfig).secrets
      } catch {
        return []
      }
    case 'cluster-object':
      return []
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
