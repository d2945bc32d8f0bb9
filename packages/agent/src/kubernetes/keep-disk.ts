/** Keeps a disk for a build that continues later, in clusters where a provisioner makes the volumes: by an annotation of the claim. */
import { isFault, type Clock, type Logger } from '@windlass/kit'
import { refOf, type Kube } from '@windlass/kube'
import { CLAIM_NOTE, LABEL } from '@windlass/protocol'
import type { AttemptRef } from '../executor.ts'

export interface KeepOptions {
  readonly kube: Kube
  readonly namespaces: readonly string[]
  readonly clock: Clock
  readonly log: Logger
}

/** Time that the provisioner may take to copy the annotation to the volume; the claim is deleted after it in any case. Milliseconds. */
const NOTED_MS = 3_000
const POLL_MS = 100

/**
 * Annotates the claims of an attempt with the time until which their disks are kept (epoch milliseconds), and waits until the provisioner
 * has seen it.
 */
export async function keepByNote(options: KeepOptions, ref: AttemptRef, until: number, signal: AbortSignal): Promise<void> {
  const { kube, namespaces, clock, log } = options
  const labels = `${LABEL.build}=${ref.buildId},${LABEL.attempt}=${ref.attempt}`
  const selections = namespaces.map((namespace) => ({ kind: 'PersistentVolumeClaim', namespace, labels }) as const)
  const claims = (await Promise.all(selections.map((selection) => kube.list(selection, signal)))).flat()
  const note = { metadata: { annotations: { [CLAIM_NOTE.keepUntil]: new Date(until).toISOString() } } }
  for (const claim of claims) {
    try {
      await kube.patch(refOf(claim), note, { signal })
      for (const end = clock.monotonic() + NOTED_MS; clock.monotonic() < end; await clock.sleep(POLL_MS, signal)) {
        const found = await kube.find(refOf(claim), signal)
        if (found === undefined || found.metadata.annotations?.[CLAIM_NOTE.kept] !== undefined) break
      }
    } catch (error) {
      if (!isFault(error, 'not-found', 'cluster-refused')) throw error
      log.warn({ err: error, claim: claim.metadata.name }, 'the disk may not be kept')
    }
  }
}
