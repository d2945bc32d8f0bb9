import { BuildInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { BuildPlanRow } from '../store/schema.ts'

/** What was asked for, without the secrets (they are sealed apart). */
export const BuildRequest = BuildInput.omit({ secrets: true, document: true })
export type BuildRequest = z.output<typeof BuildRequest>

export function readRequest(row: Pick<BuildPlanRow, 'request'>): BuildRequest {
  return BuildRequest.parse(JSON.parse(row.request))
}
