import { BuildInput } from '@windlass/protocol'
import { z } from 'zod'
import type { BuildPlanRow } from '../../store/schema/schema.ts'

/** Limits that the pipeline and the account set. Stricter limits of the runtime environment take precedence. */
export const BuildLimits = z.object({
  stepLogBytes: z.int().positive().optional(),
  buildLogBytes: z.int().positive().optional(),
  inactiveMs: z.int().positive().optional(),
  buildMs: z.int().positive().optional(),
})
export type BuildLimits = z.output<typeof BuildLimits>

/**
 * The request with the additions of its pipeline, frozen with the build. Secrets are sealed separately, and annotations have their own table.
 */
export const BuildRequest = BuildInput.omit({ secrets: true, document: true, annotations: true }).extend({
  limits: BuildLimits.prefault({}),
  /** True if the caller may not choose the repository of the automatic clone with `git`. */
  keepsRepository: z.boolean().optional(),
  /** True if a repetition has a branch, a revision or variables of a caller who may not choose the document with them. */
  keepsDocument: z.boolean().optional(),
})
export type BuildRequest = z.output<typeof BuildRequest>

export function readRequest(row: Pick<BuildPlanRow, 'request'>): BuildRequest {
  return BuildRequest.parse(JSON.parse(row.request))
}
