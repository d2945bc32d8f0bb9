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
}

export interface Reading {
  /** Maximum number of entries. */
  readonly count?: number
  /** Reads an object that has no manifest in the queue. Undefined if it does not exist. */
  readonly read: (entry: Entry) => Promise<string | undefined>
}

/** Returns the first entries with their payloads; empty if nothing waits. */
export async function nextBatch(queue: Queue, { count = MAX_PAYLOADS, read }: Reading): Promise<Batch> {
  const entries: Entry[] = []
  const payloads: object[] = []
  let size = 0
  for (const entry of queue.peek(count)) {
    const manifest = await manifestOf(entry, read)
    const length = manifest?.length ?? 0
    if (entries.length > 0 && size + length > BODY_CHARACTERS) break
    size += length
    entries.push(entry)
    // The watch reports the end of an object that is gone by now.
    if (manifest !== undefined) payloads.push(toPayload(entry, manifest))
  }
  return { entries, payloads }
}

async function manifestOf(entry: Entry, read: Reading['read']): Promise<string | undefined> {
  if (entry.state === 'gone') return ''
  return entry.state === 'wanted' ? read(entry) : entry.state.manifest
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
