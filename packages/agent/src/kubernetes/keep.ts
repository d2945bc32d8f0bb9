/** Keeping a disk for a build that goes on later, where somebody else provides the volumes: by a note on the claim. */
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

/** How long the provisioner may take to copy the note to the volume; the claim goes in any case. */
const NOTED_MS = 3_000
const LOOK_MS = 100

/** Notes on the claims of an attempt until when their disks are kept (epoch milliseconds), and waits until the provisioner has seen it. */
export async function keepByNote(options: KeepOptions, ref: AttemptRef, until: number, signal: AbortSignal): Promise<void> {
  const { kube, namespaces, clock, log } = options
  const labels = `${LABEL.build}=${ref.buildId},${LABEL.attempt}=${ref.attempt}`
  const selections = namespaces.map((namespace) => ({ kind: 'PersistentVolumeClaim', namespace, labels }) as const)
  const claims = (await Promise.all(selections.map((selection) => kube.list(selection, signal)))).flat()
  const note = { metadata: { annotations: { [CLAIM_NOTE.keepUntil]: new Date(until).toISOString() } } }
  for (const claim of claims) {
    try {
      await kube.patch(refOf(claim), note, { signal })
      for (const end = clock.monotonic() + NOTED_MS; clock.monotonic() < end; await clock.sleep(LOOK_MS, signal)) {
        const found = await kube.find(refOf(claim), signal)
        if (found === undefined || found.metadata.annotations?.[CLAIM_NOTE.kept] !== undefined) break
      }
    } catch (error) {
      if (!isFault(error, 'not-found', 'cluster-refused')) throw error
      log.warn({ err: error, claim: claim.metadata.name }, 'the disk may not be kept')
    }
  }
}
