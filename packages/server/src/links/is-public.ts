import { readPipelineSettings } from '../pipelines/settings.ts'
import type { PipelineRow } from '../store/schema/schema.ts'

/** Returns true if any person may see the badge of the pipeline, and the status and logs of its builds. */
export function isPublic(pipeline: PipelineRow): boolean {
  return readPipelineSettings(pipeline).isPublic
}
