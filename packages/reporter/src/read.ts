/** Reads an object when it is sent. */
import type { Logger } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import type { Found } from './batch.ts'
import { manifestOf } from './manifest.ts'
import { isForbidden } from './objects.ts'
import { nameOf, type Entry } from './queue.ts'

export interface ReadOptions {
  readonly kube: Kube
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Returns the manifest of an object, and no manifest for one that may not be read: it is not tried again. Throws if the reporter stops. */
export async function readManifest({ kube, log, signal }: ReadOptions, entry: Entry): Promise<Found> {
  const { kind, namespace, name } = entry
  try {
    const object = await kube.find({ kind, namespace, name }, signal)
    return { manifest: object && manifestOf(object) }
  } catch (error) {
    if (signal.aborted) throw error
    if (!isForbidden(error)) return { error }
    log.warn({ err: error, ...nameOf(entry) }, 'an object may not be read; it is left out')
    return { manifest: undefined }
  }
}
