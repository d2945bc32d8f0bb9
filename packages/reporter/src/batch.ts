/** Which entries go into one body, and how they look there. */
import { KINDS } from '@windlass/kube'
import { MAX_PAYLOADS } from '@windlass/protocol'
import type { Entry, Queue } from './queue.ts'

/** Size of the manifests in one body, unless one of them is larger. Characters. */
const BODY_CHARACTERS = 1_048_576

export interface Batch {
  /** Entries that end with this body, also those whose object does not exist anymore. */
  readonly entries: readonly Entry[]
  readonly payloads: readonly object[]
  /** Entries whose object could not be read. */
  readonly failed: readonly Failed[]
}

export interface Failed {
  readonly entry: Entry
  readonly error: unknown
}

/** The manifest of an object, undefined if it does not exist, or why it could not be read. `later`: there is no time to read it for this body. */
export type Found = { readonly manifest: string | undefined } | { readonly error: unknown } | 'later'

export interface Reading {
  /** Maximum number of entries. */
  readonly count?: number
  /** Reads an object that has no manifest in the queue. */
  readonly read: (entry: Entry) => Promise<Found>
}

/** Returns the first entries that can be sent with their payloads. An object that cannot be read does not hold up those behind it. */
export async function nextBatch(queue: Queue, { count = MAX_PAYLOADS, read }: Reading): Promise<Batch> {
  const entries: Entry[] = []
  const payloads: object[] = []
  const failed: Failed[] = []
  let size = 0
  for (const entry of queue.peek()) {
    if (entries.length >= count) break
    const found = await manifestOf(entry, read)
    if (found === 'later') continue
    if ('error' in found) {
      failed.push({ entry, error: found.error })
      continue
    }
    const { manifest } = found
    const length = manifest?.length ?? 0
    if (entries.length > 0 && size + length > BODY_CHARACTERS) break
    size += length
    entries.push(entry)
    // The watch reports the end of an object that is gone by now.
    if (manifest !== undefined) payloads.push(toPayload(entry, manifest))
  }
  return { entries, payloads, failed }
}

async function manifestOf(entry: Entry, read: Reading['read']): Promise<Found> {
  if (entry.state === 'gone') return { manifest: '' }
  return entry.state === 'wanted' ? read(entry) : entry.state
}

/** The later shape of a payload. An empty manifest means that the object is gone: the source names an application, and a manifest without fields any other object. */
function toPayload({ kind, namespace, name, uid, at }: Entry, manifest: string): object {
  const timestamp = new Date(at).toISOString()
  if (manifest !== '') return { timestamp, actualManifest: manifest }
  if (kind === 'Application')
    return { timestamp, actualManifest: '', source: { appName: name, appNamespace: namespace, appUID: uid ?? '' } }
  const named = { apiVersion: KINDS[kind].apiVersion, kind, metadata: { name, namespace, uid } }
  return { timestamp, actualManifest: '', desiredManifest: JSON.stringify(named) }
}
