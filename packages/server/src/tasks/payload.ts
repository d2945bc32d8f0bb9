import { RuntimeInput, RuntimeSpec } from '@windlass/protocol'
import { z } from 'zod'
import type { TaskRow } from '../store/schema.ts'

/** What a start task keeps of its runtime: as it was when the build was elected. */
export const StartPayload = z.object({ type: RuntimeInput.shape.type, spec: RuntimeSpec })
export type StartPayload = z.output<typeof StartPayload>
const StopPayload = z.object({ graceMs: z.int().nonnegative() })

export function readStartPayload(task: Pick<TaskRow, 'payload'>): StartPayload {
  return StartPayload.parse(JSON.parse(task.payload))
}

/** Grace of a stop task, milliseconds. */
export function readGrace(task: Pick<TaskRow, 'payload'>): number {
  return StopPayload.parse(JSON.parse(task.payload)).graceMs
}
