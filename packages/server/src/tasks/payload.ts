import { RuntimeInput, RuntimeSpec } from '@windlass/protocol'
import { z } from 'zod'
import type { TaskRow } from '../store/schema.ts'

/** What a start task keeps of its runtime: as it was when the build was elected. */
export const StartPayload = z.object({ type: RuntimeInput.shape.type, spec: RuntimeSpec })
export type StartPayload = z.output<typeof StartPayload>
/** Of a stop task: how long the engine may take to end by itself, and until when its disk is reserved for the build. */
const StopPayload = z.object({ graceMs: z.int().nonnegative(), keepDiskUntil: z.int().optional() })
export type StopPayload = z.output<typeof StopPayload>

export function readStartPayload(task: Pick<TaskRow, 'payload'>): StartPayload {
  return StartPayload.parse(JSON.parse(task.payload))
}

export function readStopPayload(task: Pick<TaskRow, 'payload'>): StopPayload {
  return StopPayload.parse(JSON.parse(task.payload))
}
