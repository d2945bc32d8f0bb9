/** Reads the disk request of a claim from its annotations (`CLAIM_NOTE`). Pure. */
import { splitList } from '@windlass/kit'
import { CLAIM_NOTE, LABEL, type DiskRequest } from '@windlass/protocol'
import { z } from 'zod'
import { Placement } from './placement.ts'
import { storageBytes } from './volume.ts'

export const Claim = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
    annotations: z.record(z.string(), z.string()).default({}),
    deletionTimestamp: z.string().optional(),
  }),
  spec: z.looseObject({
    accessModes: z.array(z.string()).default([]),
    storageClassName: z.string().default(''),
    volumeMode: z.string().default('Filesystem'),
    volumeName: z.string().default(''),
    dataSource: z.unknown().optional(),
    resources: z.looseObject({ requests: z.looseObject({ storage: z.string() }) }),
  }),
  status: z.looseObject({ phase: z.string().default('Pending') }).prefault({}),
})
export type Claim = z.infer<typeof Claim>

/** Selector of a claim without one: any disk of the account. */
const DEFAULT_SELECTOR = `${LABEL.volumeApp},${LABEL.account}`

/** Returns the request of a claim. A foreign claim without our annotations shares disks by application and account. */
export function requestOf(claim: Claim): DiskRequest {
  const { labels, annotations } = claim.metadata
  const minimum = annotations[CLAIM_NOTE.minimumSpace]
  return {
    storageClassName: claim.spec.storageClassName,
    sizeBytes: Math.max(1, Math.ceil(storageBytes(claim.spec.resources.requests.storage))),
    selector: splitList(annotations[CLAIM_NOTE.selector] ?? DEFAULT_SELECTOR),
    sortOrder: splitList(annotations[CLAIM_NOTE.sortOrder] ?? ''),
    labels: { [LABEL.volumeApp]: 'dind', ...labels },
    reset: annotations[CLAIM_NOTE.reset] === 'true',
    builds: splitList(annotations[CLAIM_NOTE.builds] ?? labels[LABEL.build] ?? ''),
    ...(minimum !== undefined && { minimumFreeBytes: Math.ceil(storageBytes(minimum)) }),
  }
}

/** Returns the node requirements of the pod, as annotated on the claim; undefined if the annotation is missing or invalid. */
export function placementOf(claim: Claim): Placement | undefined {
  const text = claim.metadata.annotations[CLAIM_NOTE.placement]
  if (text === undefined) return undefined
  try {
    const parsed = Placement.safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}
