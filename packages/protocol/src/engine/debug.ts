/**
 * The API of the debugger. Terminal bytes go through the store of the server, so that the user and the engine may be connected to different
 * replicas. They are numbered parts in both directions. Input is kept until the engine acknowledges it. Of the output the latest 256 KiB are kept, so that
 * a page can be loaded again and several persons can read; more is accepted once one of them has acknowledged the oldest part.
 *
 * GET  /v1/builds/{id}/debug                       held steps and breakpoints
 * POST /v1/builds/{id}/debug                       sets or clears breakpoints
 * POST /v1/builds/{id}/debug/{step}/{action}       continues, retries or fails a held step, or extends its time limit
 * POST /v1/builds/{id}/terminals                   opens a terminal in a held step
 * GET  /v1/builds/{id}/terminals/{terminal}/output SSE: `output` (base64; id = number), `end` (TerminalEnd)
 * POST /v1/builds/{id}/terminals/{terminal}/input  keys and sizes
 * GET  /v1/engine/terminals/{terminal}/input       SSE: `input` (TerminalPart; id = number), `end`
 * POST /v1/engine/terminals/{terminal}/output      output, acknowledgement of input, end
 */
import { z } from 'zod'
import { Id, Time } from '../base.ts'
import { DebugSettings, TerminalShape } from './engine.ts'
import { DEBUG_PHASES } from './events.ts'

/** Time limit of a held step if neither the run nor its runtime sets one. Milliseconds. */
export const DEBUG_TIMEOUT_MS = 900_000

export const DebugInput = z.object({
  steps: DebugSettings.shape.steps.default({}),
  onFailure: z.boolean().default(false),
  timeoutMs: DebugSettings.shape.timeoutMs,
  onTimeout: DebugSettings.shape.onTimeout,
})
export type DebugInput = z.input<typeof DebugInput>

/**
 * Absent fields keep their values, and `steps` are added to the breakpoints that are already set. `off`: turns debugging off, and held steps
 * continue.
 */
export const DebugChange = z.object({
  ...DebugSettings.partial().shape,
  off: z.boolean().default(false),
})
export type DebugChange = z.input<typeof DebugChange>

export const TerminalRecord = z.object({
  id: Id,
  step: z.string(),
  phase: z.enum(DEBUG_PHASES),
  openedBy: z.string(),
  createdAt: Time,
  endedAt: Time.optional(),
  exitCode: z.int().optional(),
  /** Number of the last stored input. The next one has this number plus one. */
  inputSeq: z.int().nonnegative(),
  /** Number of the last stored output. */
  outputSeq: z.int().nonnegative().optional(),
})
export type TerminalRecord = z.infer<typeof TerminalRecord>

export const DebugState = z.object({
  /** Absent if the build is not a debug run. */
  settings: DebugSettings.optional(),
  held: z.array(z.object({ step: z.string(), phase: z.enum(DEBUG_PHASES), since: Time })),
  /** Newest last. Their output is the log stream `terminal/<id>`. */
  terminals: z.array(TerminalRecord),
})
export type DebugState = z.infer<typeof DebugState>

/** Opens a terminal. `step` defaults to the step that is held. */
export const TerminalInput = TerminalShape.extend({ step: z.string().max(150).optional() })
export type TerminalInput = z.infer<typeof TerminalInput>

/** Maximum number of terminal bytes in one part, before base64. */
export const MAX_TERMINAL_BYTES = 32_768
const Piece = z.base64().max(Math.ceil(MAX_TERMINAL_BYTES / 3) * 4)

/** Key presses (base64), or the new size of the terminal. */
export const TerminalPart = z.union([
  z.object({ keys: Piece }),
  z.object({ columns: TerminalShape.shape.columns, rows: TerminalShape.shape.rows }),
])
export type TerminalPart = z.infer<typeof TerminalPart>

export const TerminalInputBatch = z.object({
  /** Number of the first part. Parts that are already stored are ignored. */
  seq: z.int().positive(),
  parts: z.array(TerminalPart).max(100),
  /** All output up to this number was shown. */
  ackSeq: z.int().nonnegative().optional(),
})
export type TerminalInputBatch = z.infer<typeof TerminalInputBatch>
export const TerminalInputAck = z.object({ seq: z.int().nonnegative() })

export const TerminalEnd = z.object({ exitCode: z.int().optional(), message: z.string().max(8192).optional() })
export type TerminalEnd = z.infer<typeof TerminalEnd>

export const TerminalOutput = z.object({
  seq: z.int().positive(),
  output: Piece.optional(),
  end: TerminalEnd.optional(),
  /** All input up to this number was written to the terminal. */
  ackSeq: z.int().nonnegative(),
})
export type TerminalOutput = z.infer<typeof TerminalOutput>
export const TerminalOutputAck = z.object({ seq: z.int().nonnegative() })
