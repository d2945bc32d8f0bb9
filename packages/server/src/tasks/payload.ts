import { RuntimeInput, RuntimeSpec } from '@windlass/protocol'
import { z } from 'zod'
import type { TaskRow } from '../store/schema/schema.ts'

/** Payload of a start task: the runtime at the time of the election. */
export const StartPayload = z.object({ type: RuntimeInput.shape.type, spec: RuntimeSpec })
export type StartPayload = z.output<typeof StartPayload>
/** Payload of a stop task: how long the engine may take to exit, and until when its disk is reserved for the build. */
const StopPayload = z.object({ graceMs: z.int().nonnegative(), keepDiskUntil: z.int().optional() })
export type StopPayload = z.output<typeof StopPayload>

export function readStartPayload(task: Pick<TaskRow, 'payload'>): StartPayload {
  return StartPayload.parse(JSON.parse(task.payload))
}

export function readStopPayload(task: Pick<TaskRow, 'payload'>): StopPayload {
  return StopPayload.parse(JSON.parse(task.payload))
}
