/**
 * Secrets of stores outside (pipeline language 4.6): `${{secrets.STORE.KEY}}`, or `${{secrets.STORE.RESOURCE@KEY}}`. They live behind the
 * firewall, so the engine reads them, before the first step and into its memory alone. The protocol is the HTTP API of Vault's KV engine,
 * version 2: GET {url}/v1/{mount}/data/{path}. A store may also be a Secret or ConfigMap of the cluster, mounted into the engine's container.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAbort, isFault, nodeTransport, retry } from '@windlass/kit'
import { findReferences } from '@windlass/plan'
import type { SecretStoreAccess } from '@windlass/protocol'
import { z } from 'zod'
import { StepFailure } from './context.ts'
import type { AttemptInput, AttemptOptions } from './input.ts'
import type { Resolved } from './resolve-document.ts'

const PREFIX = 'secrets.'
const TIMEOUT_MS = 10_000
const MAX_BYTES = 1_048_576

interface Wanted {
  /** The whole name between the braces. */
  readonly name: string
  readonly store: SecretStoreAccess
  /** Path of the secret below the mount. */
  readonly resource: string
  readonly key: string
}

/** The input with the values of all such references among its secrets, or why they cannot be had. Rejects when the attempt is stopped. */
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
      const values = await retry({ clock, signal, tries: 4, baseMs: 200, maxMs: 2000, retryIf: isPassing }, read)
      for (const one of same) secrets[one.name] = valueOf(one, values)
    }
    return { input: { ...input, secrets: { ...input.secrets, ...secrets } } }
  } catch (error) {
    if (isAbort(error) || !(error instanceof StepFailure)) throw error
    const message = error.hint === undefined ? error.message : `${error.message} ${error.hint}`
    return { outcome: { status: 'error', reason: error.reason, message } }
  }
}

/** Texts of the plan and values of variables may refer to secrets; what steps export may not. */
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
      hint: 'Make a context of type secret-store with that name.',
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

/** The keys of a Secret or ConfigMap that is mounted: a file each. */
async function readFolder({ context, path = '', folder = '' }: SecretStoreAccess): Promise<Record<string, unknown>> {
  const names = await readdir(folder).catch(() => [])
  const keys = names.filter((name) => !name.startsWith('..'))
  if (keys.length === 0)
    throw new StepFailure('integration-missing', `The secret store ${context} finds no ${path} in the cluster of this build.`, {
      hint: 'Check the name in its namespace, and which runtime environment the context is for.',
    })
  const entries = keys.map(async (key) => [key, await readFile(join(folder, key), 'utf8')] as const)
  return Object.fromEntries(await Promise.all(entries))
}

async function readResource({ store, resource }: Wanted, signal: AbortSignal): Promise<Record<string, unknown>> {
  if (store.folder !== undefined && resource === store.path) return readFolder(store)
  if (store.folder !== undefined)
    throw new StepFailure('integration-missing', `The secret store ${store.context} is ${store.path}, not ${resource}.`)
  const path = [store.mount, 'data', ...resource.split('/')].filter((part) => part !== '').map(encodeURIComponent)
  const answer = await transport({
    method: 'GET',
    url: `${store.url.replace(/\/+$/, '')}/v1/${path.join('/')}`,
    headers: {
      'x-vault-token': store.token,
      ...(store.namespace !== undefined && { 'x-vault-namespace': store.namespace }),
    },
    signal,
    timeoutMs: TIMEOUT_MS,
  }).catch((error: unknown) => {
    throw isAbort(error) ? error : new StoreAway(store, error instanceof Error ? error.message : String(error))
  })
  if (answer.status >= 500 || answer.status === 429) throw new StoreAway(store, `it answered ${answer.status}`)
  if (answer.status === 404)
    throw new StepFailure('integration-missing', `The secret store ${store.context} has no secret ${resource}.`)
  if (answer.status !== 200)
    throw new StepFailure(
      'integration-missing',
      `The secret store ${store.context} refused to tell ${resource} (${answer.status}).`,
      {
        hint: 'Check the token of the context, and what it may read.',
      },
    )
  const read = Answer.safeParse(parseJson(await readText(answer.body, store)))
  if (read.success) return read.data.data.data
  throw new StepFailure(
    'integration-missing',
    `The secret store ${store.context} does not speak the API of Vault's KV engine, version 2.`,
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A store that may answer later; when it never does, its words are those of the build. */
class StoreAway extends StepFailure {
  constructor({ context, url }: SecretStoreAccess, why: string) {
    super('integration-missing', `The secret store ${context} at ${url} cannot be reached: ${why}.`)
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof StoreAway || isFault(error, 'server-unreachable')
}

async function readText(body: AsyncIterable<Uint8Array>, { context }: SecretStoreAccess): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.length
    if (bytes > MAX_BYTES)
      throw new StepFailure('integration-missing', `The secret store ${context} answered more than a mebibyte.`)
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
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
