/**
 * Reads secrets of external stores: `${{secrets.STORE.KEY}}` or `${{secrets.STORE.RESOURCE@KEY}}`. The stores are behind the firewall, so the engine
 * reads them before the first step and keeps the values in memory only. The protocol is the HTTP API of Vault's KV engine, version 2: GET
 * {url}/v1/{mount}/data/{path}. A store can also be a Secret or ConfigMap of the cluster, mounted into the engine's container.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defined, isAbort, isFault, nodeTransport, parseJson, readText, retry, sentences } from '@windlass/kit'
import { findReferences } from '@windlass/plan'
import type { SecretStoreAccess } from '@windlass/protocol'
import { z } from 'zod'
import type { AttemptInput, AttemptOptions } from '../attempt/input.ts'
import type { Resolved } from '../run/resolve-document.ts'
import { StepFailure } from '../attempt/step-outcome.ts'

const PREFIX = 'secrets.'
const TIMEOUT_MS = 10_000
const MAX_BYTES = 1_048_576

interface Wanted {
  /** The reference without its braces. */
  readonly name: string
  readonly store: SecretStoreAccess
  /** Path of the secret below the mount. */
  readonly resource: string
  readonly key: string
}

/** Returns the input with the values of all such references in `secrets`, or the outcome if one is missing. Rejects if the attempt is stopped. */
export async function readStoreSecrets({
  input,
  clock,
  signal,
}: Pick<AttemptOptions, 'input' | 'clock' | 'signal'>): Promise<Resolved> {
  const { secretStores: stores = [] } = input
  if (stores.length === 0) return { input }
  try {
    const wanted = namesIn(input).map((name) => toWanted(name, stores))
    const secrets: Record<string, string> = {}
    for (const [, same] of Map.groupBy(wanted, ({ store, resource }) => `${store.context}\n${resource}`)) {
      const [first] = same
      if (first === undefined) continue
      const read = (): Promise<Record<string, unknown>> => readResource(first, signal)
      const values = await retry({ clock, signal, tries: 4, baseMs: 200, maxMs: 2000, retryIf: isTransient }, read)
      for (const one of same) secrets[one.name] = valueOf(one, values)
    }
    return { input: { ...input, secrets: { ...input.secrets, ...secrets } } }
  } catch (error) {
    if (signal.aborted || !(error instanceof StepFailure)) throw error
    return { outcome: { status: 'error', reason: error.reason, message: sentences(error.message, error.hint) } }
  }
}

/** Texts of the plan and values of variables may refer to secrets. Exported values may not. */
function namesIn({ plan, secrets }: AttemptInput): string[] {
  const names = new Set<string>()
  const look = (value: unknown): void => {
    if (typeof value === 'string')
      for (const { name } of findReferences(value)) if (name.trim().startsWith(PREFIX)) names.add(name.trim())
    if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) look(part)
  }
  look([plan, secrets])
  return [...names]
}

function toWanted(name: string, stores: readonly SecretStoreAccess[]): Wanted {
  const rest = name.slice(PREFIX.length)
  const store = stores
    .filter(({ context }) => rest.startsWith(`${context}.`))
    .toSorted((a, b) => b.context.length - a.context.length)[0]
  if (store === undefined)
    throw new StepFailure('integration-missing', `There is no secret store for \${{${name}}}.`, {
      hint: 'Create a context of type secret-store with that name.',
    })
  const path = rest.slice(store.context.length + 1)
  const at = path.lastIndexOf('@')
  const resource = at < 0 ? store.path : path.slice(0, at)
  if (resource === undefined)
    throw new StepFailure('integration-missing', `\${{${name}}} names no secret of the store ${store.context}.`, {
      hint: `Write \${{secrets.${store.context}.RESOURCE@KEY}}, or give the context a path.`,
    })
  return { name, store, resource, key: path.slice(at + 1) }
}

const Answer = z.object({ data: z.object({ data: z.record(z.string(), z.unknown()) }) })
const transport = nodeTransport()

/** Reads a mounted Secret or ConfigMap: one file for each key. */
async function readFolder({ context, path = '', folder = '' }: SecretStoreAccess): Promise<Record<string, unknown>> {
  const names = await readdir(folder).catch(() => [])
  const keys = names.filter((name) => !name.startsWith('..'))
  if (keys.length === 0)
    throw new StepFailure(
      'integration-missing',
      `The secret store ${context} cannot find ${path} in the cluster of this build.`,
      {
        hint: 'Check the name in its namespace, and which runtime environment the context is for.',
      },
    )
  const entries = keys.map(async (key) => [key, await readFile(join(folder, key), 'utf8')] as const)
  return Object.fromEntries(await Promise.all(entries))
}

async function readResource({ store, resource }: Wanted, signal: AbortSignal): Promise<Record<string, unknown>> {
  if (store.folder !== undefined && resource === store.path) return readFolder(store)
  if (store.folder !== undefined)
    throw new StepFailure(
      'integration-missing',
      `The secret store ${store.context} provides only ${store.path}, not ${resource}.`,
    )
  const path = [store.mount, 'data', ...resource.split('/')].filter((part) => part !== '').map(encodeURIComponent)
  const answer = await transport({
    method: 'GET',
    url: `${store.url.replace(/\/+$/, '')}/v1/${path.join('/')}`,
    headers: {
      'x-vault-token': store.token,
      ...defined({ 'x-vault-namespace': store.namespace }),
    },
    signal,
    timeoutMs: TIMEOUT_MS,
  }).catch((error: unknown) => {
    throw isAbort(error) ? error : new StoreUnreachable(store, error instanceof Error ? error.message : String(error))
  })
  if (answer.status >= 500 || answer.status === 429) throw new StoreUnreachable(store, `it returned ${answer.status}`)
  if (answer.status === 404)
    throw new StepFailure('integration-missing', `The secret store ${store.context} has no secret ${resource}.`)
  if (answer.status !== 200)
    throw new StepFailure(
      'integration-missing',
      `The secret store ${store.context} refused to return ${resource} (${answer.status}).`,
      {
        hint: 'Check the token of the context and its permissions.',
      },
    )
  const tooLarge = (): Error =>
    new StepFailure('integration-missing', `The secret store ${store.context} returned more than 1 MiB.`)
  const read = Answer.safeParse(parseJson(await readText(answer.body, MAX_BYTES, tooLarge)))
  if (read.success) return read.data.data.data
  throw new StepFailure(
    'integration-missing',
    `The secret store ${store.context} does not implement the API of Vault's KV engine, version 2.`,
  )
}

/** A failure that is worth a retry. Ends the build if the retries fail too. */
class StoreUnreachable extends StepFailure {
  constructor({ context, url }: SecretStoreAccess, why: string) {
    super('integration-missing', `The secret store ${context} at ${url} cannot be reached: ${why}`)
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof StoreUnreachable || isFault(error, 'server-unreachable')
}

function valueOf({ name, store, resource, key }: Wanted, values: Readonly<Record<string, unknown>>): string {
  const value = Object.hasOwn(values, key) ? values[key] : undefined
  if (value === undefined || value === null)
    throw new StepFailure(
      'integration-missing',
      `The secret ${resource} of the store ${store.context} has no key ${key} (\${{${name}}}).`,
    )
  return typeof value === 'string' ? value : JSON.stringify(value)
}
