/** Checks stores of secrets: one with the HTTP API of the Vault KV engine, version 2, and a Secret or ConfigMap of the cluster. */
import { defined, isFault, parseJson } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import type { CheckedTarget } from '@windlass/protocol'
import type { Executor } from '../executor.ts'
import { isBusy, type DialAnswer, type Dialer } from './dial.ts'
import { CheckFailure, type Reached } from './outcome.ts'

type StoreTarget = Extract<CheckedTarget, { type: 'secret-store' }>
type ObjectTarget = Extract<CheckedTarget, { type: 'cluster-object' }>

const CHECK_TOKEN = 'Check the token of the context, its policies, and whether it has expired.'

/** Reads the secrets that the context or pipelines name. The values are only compared with the wanted keys. Throws `CheckFailure`. */
export async function checkStore(target: StoreTarget, url: URL, dialer: Dialer): Promise<Reached> {
  const { host } = url
  const headers = { 'x-vault-token': target.token, ...defined({ 'x-vault-namespace': target.namespace }) }
  const base = url.href.replace(/[?#].*$/, '').replace(/\/+$/, '')
  const call = async (...path: readonly string[]): Promise<DialAnswer> =>
    dialer.call({ url: new URL(`${base}/v1/${path.map(encodeURIComponent).join('/')}`), headers })
  const self = await call('auth', 'token', 'lookup-self')
  if (self.status === 403 || self.status === 401)
    throw new CheckFailure('unauthorized', `${host} refuses the token (${self.status}).`, { host, hint: CHECK_TOKEN })
  // A store with only the API of secrets does not know this call.
  const identity = self.status === 200 ? nameOf(parseJson(self.text)) : undefined
  const wanted = new Map(Object.entries(target.keys))
  if (target.path !== undefined && !wanted.has(target.path)) wanted.set(target.path, [])
  if (wanted.size === 0 && self.status !== 200) throw unexpected(host, self)
  for (const [path, keys] of wanted) {
    const parts = [target.mount, 'data', ...path.split('/')].filter((part) => part !== '')
    requireKeys(await call(...parts), { host, path, keys })
  }
  const what = wanted.size === 0 ? 'accepts the token' : `lets the token read ${[...wanted.keys()].slice(0, 5).join(', ')}`
  return { message: `${host} ${what}.`, host, ...defined({ identity }) }
}

interface Wanted {
  readonly host: string
  readonly path: string
  readonly keys: readonly string[]
}

function requireKeys(answer: DialAnswer, { host, path, keys }: Wanted): void {
  const { status } = answer
  if (status === 404)
    throw new CheckFailure('not-found', `${host} has no secret ${path}.`, { host, hint: 'Check mount and path of the context.' })
  if (status === 401 || status === 403)
    throw new CheckFailure('forbidden', `${host} does not let the token read ${path} (${status}).`, { host, hint: CHECK_TOKEN })
  const body = status === 200 ? parseJson(answer.text) : undefined
  const data = isRecord(body) && isRecord(body['data']) ? body['data']['data'] : undefined
  if (!isRecord(data)) throw unexpected(host, answer)
  requireNames(Object.keys(data), { host, path, keys })
}

/** Throws `CheckFailure` if keys that pipelines name are missing. */
function requireNames(found: readonly string[], { host, path, keys }: Wanted): void {
  const missing = keys.filter((key) => !found.includes(key))
  if (missing.length > 0)
    throw new CheckFailure(
      'key-missing',
      `${path} has no ${missing.length === 1 ? 'key' : 'keys'} ${missing.slice(0, 10).join(', ')}, which pipelines name.`,
      {
        host,
        hint: 'Add the keys, or correct the documents of the pipelines.',
      },
    )
}

function nameOf(body: unknown): string | undefined {
  const data = isRecord(body) && isRecord(body['data']) ? body['data'] : {}
  const name = data['display_name']
  return typeof name === 'string' && name !== '' ? name : undefined
}

function unexpected(host: string, answer: DialAnswer): CheckFailure {
  const { status } = answer
  if (isBusy(answer))
    return new CheckFailure('busy', `${host} answered ${status}.`, { host, hint: 'Check whether the store is sealed or down.' })
  return new CheckFailure(
    'unexpected-answer',
    `${host} answers, but not with the API of the Vault KV engine, version 2 (${status}).`,
    {
      host,
      hint: 'Check url and mount of the context.',
    },
  )
}

export interface ObjectCheck {
  readonly target: ObjectTarget
  readonly runtime: string
  readonly namespace: string | undefined
  readonly executor: Pick<Executor, 'readData'>
  readonly signal: AbortSignal
}

/** Reads the keys of the object with the rights of the agent. Throws `CheckFailure`. */
export async function checkObject({ target, runtime, namespace, executor, signal }: ObjectCheck): Promise<Reached> {
  const { kind, name, keys } = target
  if (executor.readData === undefined || namespace === undefined)
    throw new CheckFailure('not-allowed', `The runtime ${runtime} runs builds outside of a cluster, where there is no ${kind}.`)
  const host = namespace
  const data = await executor.readData({ runtime, namespace, kind, name }, signal).catch((error: unknown) => {
    signal.throwIfAborted()
    throw clusterFailure(error, `${kind} ${name}`, host)
  })
  if (data === undefined)
    throw new CheckFailure('not-found', `The namespace ${namespace} has no ${kind} ${name}.`, {
      host,
      hint: 'Check resourceName and resourceType of the context, and which runtime it is for.',
    })
  const found = Object.keys(data)
  if (found.length === 0)
    throw new CheckFailure('key-missing', `The ${kind} ${name} of the namespace ${namespace} has no keys.`, {
      host,
      hint: 'Add the keys.',
    })
  requireNames(found, { host, path: `The ${kind} ${name}`, keys })
  return {
    message: `The namespace ${namespace} has the ${kind} ${name} with ${found.length === 1 ? '1 key' : `${found.length} keys`}.`,
    host,
  }
}

function clusterFailure(error: unknown, what: string, host: string): Error {
  if (isFault(error, 'policy-refused')) {
    const { hint } = error
    return new CheckFailure('not-allowed', `The owner of the cluster does not let builds use the ${what}.`, { host, hint })
  }
  if (isFault(error, 'cluster-refused'))
    return new CheckFailure('forbidden', `The agent may not read the ${what}. Builds mount it without this right.`, {
      host,
      hint: 'Upgrade the chart of the agent, which grants the right: `windlass runner upgrade`.',
    })
  if (isFault(error, 'cluster-unreachable'))
    return new CheckFailure('no-connection', 'The API of the cluster does not answer the agent.', {
      host,
      hint: 'Check the runtime: `windlass doctor --agent`.',
    })
  return error instanceof Error ? error : new Error(String(error))
}
