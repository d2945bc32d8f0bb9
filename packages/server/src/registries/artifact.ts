/** A pushed image or chart, in the form that triggers are matched against. */
import type { NoBuildReason } from '@windlass/protocol'
import { isIgnored, type Headers, type Ignored } from '../forges/event.ts'
import { isSame } from '../forges/signature.ts'

export interface Artifact {
  readonly type: 'registry' | 'helm'
  /** Image without host and tag, or name of the chart. */
  readonly name: string
  /** Namespace, project, repository or registry that the name is in, for EVENT_NAMESPACE. */
  readonly namespace?: string | undefined
  /** Tag of the image, or version of the chart. */
  readonly tag: string
  readonly digest?: string | undefined
  readonly pusher?: string | undefined
  /** RFC 3339. */
  readonly pushedAt?: string | undefined
}

export type ReadArtifact = Artifact | Ignored

export function isArtifact(read: ReadArtifact): read is Artifact {
  return !isIgnored(read)
}

export interface RegistryCall {
  readonly headers: Headers
  /** The bytes as they were sent. */
  readonly body: Uint8Array
  /** The parameter `token` of the address. */
  readonly token: string | undefined
  readonly secret: string
}

/** Functions of a registry. They are pure, never throw, and get what a stranger sent unless `verify` returned true for it. */
export interface RegistryReader {
  /** Returns true if the call is signed with the secret, or carries it. Compares in constant time. */
  verify(call: RegistryCall): boolean
  /** Returns the id that the registry gave the call and keeps when it repeats it. Undefined if it gives none. */
  deliveryId?(body: unknown): string | undefined
  /** Returns the name of the event at the registry, for users. */
  eventName(body: unknown): string | undefined
  /** Returns the images and charts of a call. */
  parse(body: unknown): readonly ReadArtifact[]
}

/** Returns true if a header carries the secret: `X-Windlass-Token`, or `Authorization` with or without the word Bearer. */
export function hasTokenHeader({ headers, secret }: RegistryCall): boolean {
  const given = headers['x-windlass-token'] ?? headers['authorization']?.replace(/^bearer +/i, '')
  return isSame(given, secret)
}

/** Returns true if a header or the address carries the secret, for registries that cannot send headers. */
export function hasToken(call: RegistryCall): boolean {
  return isSame(call.token, call.secret) || hasTokenHeader(call)
}

export function ignored(reason: Extract<NoBuildReason, 'event-unsupported' | 'payload-invalid'>, message: string): Ignored {
  return { reason, message }
}

/** The result for a body that names no image or chart. */
export function nameless(): Ignored {
  return ignored('payload-invalid', 'The body names no image with a tag and no chart with a version.')
}

/** Splits `host/path:tag`, as images are named in commands. Undefined without a tag or without a path. */
export function splitReference(reference: string | undefined): { readonly name: string; readonly tag: string } | undefined {
  const match = /^(?:[^/\s]*[.:][^/\s]*\/|localhost\/)?([^\s:@]+):([^\s:@/]+)$/.exec(reference ?? '')
  return match?.[1] === undefined || match[2] === undefined ? undefined : { name: match[1], tag: match[2] }
}

/** Returns everything before the last slash. Undefined without one. */
export function namespaceOf(name: string): string | undefined {
  const slash = name.lastIndexOf('/')
  return slash <= 0 ? undefined : name.slice(0, slash)
}

/** Returns the time of a number of seconds since the epoch. Undefined for a text that is not one. */
export function timeOfSeconds(seconds: string | undefined): string | undefined {
  const value = Number(seconds)
  return seconds === undefined || !Number.isInteger(value) || value <= 0 || value > 1e11
    ? undefined
    : new Date(value * 1000).toISOString()
}
