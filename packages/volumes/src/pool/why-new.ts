/** Says why a build gets a new disk. Pure. */
import { REFUSALS, refusalOf } from './choose-disk.ts'
import type { DiskClaim } from './claim.ts'
import type { Volume } from './volume.ts'

/** Reasons that depend on the place of a disk, after those of `refusalOf`. */
const ELSEWHERE = { namespace: 'of another namespace', reach: 'out of reach' }

/** Returns why none of the disks is chosen for a claim, with the number of disks by reason. */
export function whyNewDisk(volumes: readonly Volume[], { request, claim }: DiskClaim, now: number): string {
  if (request.reset) return 'The build asks for an empty disk.'
  const counted = new Map<string, number>()
  for (const volume of volumes) {
    const { storageClassName, claimRef } = volume.spec
    // The volume of a repeated attempt for the same claim.
    if (storageClassName !== request.storageClassName || (claimRef?.uid ?? '') === (claim.metadata.uid ?? '-')) continue
    const isHere = (claimRef?.namespace ?? claim.metadata.namespace) === claim.metadata.namespace
    const refusal = isHere ? refusalOf(volume, request, now) : undefined
    const reason = refusal === undefined ? ELSEWHERE[isHere ? 'reach' : 'namespace'] : REFUSALS[refusal]
    counted.set(reason, (counted.get(reason) ?? 0) + 1)
  }
  if (counted.size === 0) return 'No disk of this class exists yet.'
  return `No disk fits: ${[...counted].map(([reason, count]) => `${count} ${reason}`).join(', ')}.`
}
