/** What a claim asks for: everything the choice of a disk needs stands on the claim (`CLAIM_NOTE`). Pure. */
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

/** Selector of a claim that says none (runner specification 5.4): any disk of the account. */
const DEFAULT_SELECTOR = `${LABEL.volumeApp},${LABEL.account}`

/** The request of a claim. A claim of somebody else, without our annotations, shares disks by application and account. */
export function requestOf(claim: Claim): DiskRequest {
  const { labels, annotations } = claim.metadata
  const minimum = annotations[CLAIM_NOTE.minimumSpace]
  return {
    storageClassName: claim.spec.storageClassName,
    sizeBytes: Math.max(1, Math.ceil(storageBytes(claim.spec.resources.requests.storage))),
    selector: keysOf(annotations[CLAIM_NOTE.selector] ?? DEFAULT_SELECTOR),
    sortOrder: keysOf(annotations[CLAIM_NOTE.sortOrder] ?? ''),
    labels: { [LABEL.volumeApp]: 'dind', ...labels },
    reset: annotations[CLAIM_NOTE.reset] === 'true',
    builds: keysOf(annotations[CLAIM_NOTE.builds] ?? labels[LABEL.build] ?? ''),
    ...(minimum !== undefined && { minimumFreeBytes: Math.ceil(storageBytes(minimum)) }),
  }
}

/** What the pod of the claim asks of its node, as the claim says it; undefined when it does not, or not readably. */
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

function keysOf(list: string): string[] {
  return list
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '')
}
