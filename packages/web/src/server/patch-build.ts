/** Joins the complete form of a build with a newer list form of it. Pure. */
import type { Build } from '@windlass/protocol'

/** Fields of the complete form that the list form may lack. */
const DETAILS = [
  'steps',
  'attempts',
  'approvals',
  'annotations',
  'problems',
  'blame',
  'why',
  'waits',
  'git',
  'commitStatus',
] as const satisfies readonly (keyof Build)[]

/** Returns the complete form with the newer facts of the list form. A fact that the list form no longer has is gone. */
export function patchBuild(full: Build, listed: Build): Build {
  const details = DETAILS.map((key) => [key, full[key]] as const).filter(([, value]) => value !== undefined)
  return { ...listed, ...Object.fromEntries(details) }
}
