/** What is needed of a forge or a registry before a call is processed: its check, its id, and what it is about. */
import { randomUUID } from 'node:crypto'
import type { Forge, Registry } from '@windlass/protocol'
import { isEvent, type ForgeEvent, type Headers } from '../../forges/event.ts'
import { FORGE_READERS } from '../../forges/forge.ts'
import { isArtifact, type ReadArtifact } from '../../registries/artifact.ts'
import { isRegistry, REGISTRY_READERS } from '../../registries/registries.ts'
import type { DeliveryRow, Sender } from '../../store/schema/schema.ts'

export interface ReceivedCall {
  readonly headers: Headers
  readonly body: Buffer
  /** The parameter `token` of the address. */
  readonly token: string | undefined
}

export type About = Pick<DeliveryRow, 'repo' | 'branch' | 'revision'>

export interface SenderReader {
  /** Headers that are stored, in lower case. */
  readonly headers: readonly string[]
  verify(call: ReceivedCall, secret: string): boolean
  deliveryId(headers: Headers, body: unknown): string | undefined
  eventName(headers: Headers, body: unknown): string | undefined
  about(headers: Headers, body: unknown): About
  /** The events of a forge; none of a registry. */
  events(headers: Headers, body: unknown): readonly ForgeEvent[]
}

/** Returns the reader of the calls of a forge or a registry. */
export function senderReader(sender: Forge | Registry): SenderReader {
  return isRegistry(sender) ? ofRegistry(sender) : ofForge(sender)
}

function ofForge(forge: Forge): SenderReader {
  const reader = FORGE_READERS[forge]
  return {
    headers: reader.headers,
    verify: ({ headers, body }, secret) => reader.verify({ headers, body, secret }),
    deliveryId: (headers, body) => reader.deliveryId(headers, body),
    eventName: (headers, body) => reader.eventName(headers, body),
    events: (headers, body) => reader.parse(headers, body).filter(isEvent),
    about(headers, body) {
      const first = reader.parse(headers, body).find(isEvent)
      return { repo: first?.repo.toLowerCase() ?? null, branch: first?.branch ?? null, revision: first?.revision ?? null }
    },
  }
}

function ofRegistry(registry: Registry): SenderReader {
  const reader = REGISTRY_READERS[registry]
  return {
    headers: [],
    verify: (call, secret) => reader.verify({ ...call, secret }),
    deliveryId: (_headers, body) => reader.deliveryId?.(body) ?? (isRepeatable(reader.parse(body)) ? randomUUID() : undefined),
    eventName: (_headers, body) => reader.eventName(body),
    events: () => [],
    about(_headers, body) {
      const first = reader.parse(body).find(isArtifact)
      return { repo: first?.name.toLowerCase() ?? null, branch: first?.tag ?? null, revision: first?.digest ?? null }
    },
  }
}

/** True if two pushes of a tag are reported by the same body. Each such call is another one, because a push must not be taken for a repetition. */
function isRepeatable(read: readonly ReadArtifact[]): boolean {
  return read.some((one) => isArtifact(one) && one.digest === undefined && one.pushedAt === undefined)
}

/** Returns the sender for the API. The end of a build has none. */
export function showSender(sender: Sender): { readonly forge?: Forge; readonly registry?: Registry } {
  if (sender === 'windlass') return {}
  return isRegistry(sender) ? { registry: sender } : { forge: sender }
}
