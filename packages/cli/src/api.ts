/** The calls of `/v1` that commands make; paths stand here and nowhere else. */
import { randomUUID } from 'node:crypto'
import { fault } from '@windlass/kit/faults'
import {
  AccountSettings,
  Annotations,
  AgentCreated,
  ApiKeyCreated,
  Build,
  page,
  ServerStatus,
  type BuildInput,
  type Client,
  DebugState,
  TerminalRecord,
  type DebugAction,
  type DebugChange,
  type RestartInput,
  type TerminalInput,
} from '@windlass/protocol'
import { z } from 'zod'
import type { Kind } from './resources/kinds.ts'

const PAGE_SIZE = 100

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** All things of a kind, newest first where they have an order; at most `limit` of them. */
export async function listAll<T>(
  client: Client,
  kind: Kind<T>,
  options: { query?: Query; limit?: number | undefined } = {},
): Promise<T[]> {
  const limit = options.limit ?? Infinity
  const items: T[] = []
  let cursor: string | undefined
  do {
    const query = { ...options.query, limit: Math.min(PAGE_SIZE, limit - items.length), cursor }
    const answer = await client.call('GET', kind.path, page(kind.shape), { query })
    items.push(...answer.items)
    cursor = answer.next
  } while (cursor !== undefined && items.length < limit)
  return items
}

/** The versions of a step type, latest first. Throws `usage` for other kinds, `not-found`. */
export async function listVersions<T>(client: Client, kind: Kind<T>, name: string): Promise<T[]> {
  if (kind.name !== 'step-types')
    throw fault('usage', { message: '--versions goes with step types only.', hint: 'windlass get step-types NAME --versions' })
  return (await client.call('GET', `${kind.path}/${encodeURIComponent(name)}/versions`, page(kind.shape))).items
}

/** One thing by its name or id. Throws `not-found`. */
export function getOne<T>(client: Client, kind: Kind<T>, name: string): Promise<T> {
  return client.call('GET', `${kind.path}/${encodeURIComponent(name)}`, kind.shape)
}

export async function deleteOne<T>(client: Client, kind: Kind<T>, name: string): Promise<void> {
  await client.text('DELETE', `${kind.path}/${encodeURIComponent(name)}`)
}

/** Makes a thing; throws `conflict` when it exists. */
export function createOne<T>(client: Client, kind: Kind<T>, body: unknown): Promise<T> {
  return client.call('POST', kind.path, kind.shape, { body, headers: onceOnly() })
}

/** Makes the thing of this name, or replaces it. */
export function putOne<T>(client: Client, kind: Kind<T>, { name, body }: { name: string; body: unknown }): Promise<T> {
  return client.call('PUT', `${kind.path}/${encodeURIComponent(name)}`, kind.shape, { body })
}

export function getBuild(client: Client, id: string, signal?: AbortSignal): Promise<Build> {
  return client.call('GET', `/v1/builds/${encodeURIComponent(id)}`, Build, { signal })
}

export function createBuild(client: Client, body: BuildInput): Promise<Build> {
  return client.call('POST', '/v1/builds', Build, { body, headers: onceOnly() })
}

export function restart(client: Client, id: string, body: RestartInput = {}): Promise<Build> {
  return client.call('POST', `/v1/builds/${encodeURIComponent(id)}/restart`, Build, { body, headers: onceOnly() })
}

/** Decides about a step that waits. Throws `approval-missing`, `approval-ambiguous`, `approval-decided`, `build-final`. */
export function decide(
  client: Client,
  { id, verb }: { id: string; verb: 'approve' | 'deny' },
  body: { step?: string | undefined; comment?: string | undefined },
): Promise<Build> {
  return client.call('POST', `/v1/builds/${encodeURIComponent(id)}/${verb}`, Build, { body })
}

interface Annotated {
  readonly entity: string
  /** Name or id. */
  readonly id: string
}

function annotationsPath({ entity, id }: Annotated): string {
  return `/v1/annotations/${encodeURIComponent(entity)}/${encodeURIComponent(id)}`
}

export function getAnnotations(client: Client, of: Annotated): Promise<Annotations> {
  return client.call('GET', annotationsPath(of), Annotations)
}

export function putAnnotations(client: Client, of: Annotated, body: object): Promise<Annotations> {
  return client.call('PUT', annotationsPath(of), Annotations, { body })
}

export async function removeAnnotation(client: Client, of: Annotated, name: string): Promise<void> {
  await client.text('DELETE', `${annotationsPath(of)}/${encodeURIComponent(name)}`)
}

export function getSettings(client: Client): Promise<AccountSettings> {
  return client.call('GET', '/v1/settings', AccountSettings)
}

export function putSettings(client: Client, body: object): Promise<AccountSettings> {
  return client.call('PUT', '/v1/settings', AccountSettings, { body })
}

/** Asks for the end of a build; throws `build-final` when it has ended. */
export async function terminate(client: Client, id: string): Promise<void> {
  await client.text('POST', `/v1/builds/${encodeURIComponent(id)}/terminate`, { body: {} })
}

export function createAgent(
  client: Client,
  body: { name: string; runtimes: readonly string[] },
): Promise<z.infer<typeof AgentCreated>> {
  return client.call('POST', '/v1/agents', AgentCreated, { body, headers: onceOnly() })
}

export function createKey(client: Client, body: { name: string; role: string }): Promise<z.infer<typeof ApiKeyCreated>> {
  return client.call('POST', '/v1/keys', ApiKeyCreated, { body, headers: onceOnly() })
}

export function serverStatus(client: Client): Promise<z.infer<typeof ServerStatus>> {
  return client.call('GET', '/v1/status', ServerStatus, { timeoutMs: 10_000 })
}

const Whoami = z.object({ name: z.string(), role: z.string().optional() })

/** Whose key this is. Throws `unauthenticated`. */
export function whoAmI(client: Client): Promise<z.infer<typeof Whoami>> {
  return client.call('GET', '/v1/whoami', Whoami, { timeoutMs: 15_000 })
}

/** The first admin key of a server that has none. Throws `bootstrap-closed`. */
export function createFirstKey(client: Client): Promise<z.infer<typeof ApiKeyCreated>> {
  return client.call('POST', '/v1/bootstrap', ApiKeyCreated, { body: {} })
}

/** The last lines of one stream as text. */
export function logTail(client: Client, id: string, query: Query): Promise<string> {
  return client.text('GET', `/v1/builds/${encodeURIComponent(id)}/log`, { query })
}

/** Where a build stops for the debugger, and what is held. */
export function getDebug(client: Client, id: string): Promise<DebugState> {
  return client.call('GET', `/v1/builds/${encodeURIComponent(id)}/debug`, DebugState)
}

export function changeDebug(client: Client, id: string, change: DebugChange): Promise<DebugState> {
  return client.call('POST', `/v1/builds/${encodeURIComponent(id)}/debug`, DebugState, { body: change })
}

/** Throws `not-held`. */
export function actOnHeld(
  client: Client,
  id: string,
  { step, action }: { step: string; action: DebugAction },
): Promise<DebugState> {
  const path = `/v1/builds/${encodeURIComponent(id)}/debug/${encodeURIComponent(step)}/${action}`
  return client.call('POST', path, DebugState, { body: {} })
}

/** Throws `not-held`. */
export function openTerminal(client: Client, id: string, input: TerminalInput): Promise<TerminalRecord> {
  const path = `/v1/builds/${encodeURIComponent(id)}/terminals`
  return client.call('POST', path, TerminalRecord, { body: input, headers: onceOnly() })
}

/** A call repeated after a lost answer must not make a second thing. */
function onceOnly(): Record<string, string> {
  return { 'idempotency-key': randomUUID() }
}
