/**
 * The debugger, as people reach it. Bytes of a terminal go over the store of the server, so that a person and an engine may each talk to
 * another replica: numbered parts in both directions, each kept until the other side has it.
 *
 * GET  /v1/builds/{id}/debug                       what is held, and where the build stops
 * POST /v1/builds/{id}/debug                       sets or clears where it stops
 * POST /v1/builds/{id}/debug/{step}/{action}       lets a held step go on, be tried again, fail; or gives it more time
 * POST /v1/builds/{id}/terminals                   opens a terminal in a held step
 * GET  /v1/builds/{id}/terminals/{terminal}/output SSE: `output` (base64; id = number), `end` (TerminalEnd)
 * POST /v1/builds/{id}/terminals/{terminal}/input  keys and sizes
 * GET  /v1/engine/terminals/{terminal}/input       SSE: `input` (TerminalPart; id = number), `end`
 * POST /v1/engine/terminals/{terminal}/output      output, acknowledgement of input, end
 */
import { z } from 'zod'
import { Id, Time } from './base.ts'
import { DebugSettings, TerminalShape } from './engine.ts'
import { DEBUG_PHASES } from './events.ts'

/** How long a held step waits for somebody when neither the run nor its runtime says. */
export const DEBUG_TIMEOUT_MS = 900_000

export const DebugInput = z.object({
  steps: DebugSettings.shape.steps.default({}),
  onFailure: z.boolean().default(false),
  timeoutMs: DebugSettings.shape.timeoutMs,
  onTimeout: DebugSettings.shape.onTimeout,
})
export type DebugInput = z.input<typeof DebugInput>

/** `off`: an ordinary build from here on; what is held goes on. */
export const DebugChange = DebugInput.extend({ off: z.boolean().default(false) })
export type DebugChange = z.input<typeof DebugChange>

export const TerminalRecord = z.object({
  id: Id,
  step: z.string(),
  phase: z.enum(DEBUG_PHASES),
  openedBy: z.string(),
  createdAt: Time,
  endedAt: Time.optional(),
  exitCode: z.int().optional(),
  /** Number of the last input that is stored; the next one is one higher. */
  inputSeq: z.int().nonnegative(),
})
export type TerminalRecord = z.infer<typeof TerminalRecord>

export const DebugState = z.object({
  /** Absent in a build that is not debugged. */
  settings: DebugSettings.optional(),
  held: z.array(z.object({ step: z.string(), phase: z.enum(DEBUG_PHASES), since: Time })),
  /** Newest last; what they showed is the stream `terminal/<id>` of the log. */
  terminals: z.array(TerminalRecord),
})
export type DebugState = z.infer<typeof DebugState>

/** Without `step`: the one that is held. */
export const TerminalInput = TerminalShape.extend({ step: z.string().max(150).optional() })
export type TerminalInput = z.infer<typeof TerminalInput>

/** Largest piece of terminal bytes in one part, before base64. */
export const MAX_TERMINAL_BYTES = 32_768
const Piece = z.base64().max(Math.ceil(MAX_TERMINAL_BYTES / 3) * 4)

/** Keys that were pressed (base64), or the terminal's new size. */
export const TerminalPart = z.union([
  z.object({ keys: Piece }),
  z.object({ columns: TerminalShape.shape.columns, rows: TerminalShape.shape.rows }),
])
export type TerminalPart = z.infer<typeof TerminalPart>

export const TerminalInputBatch = z.object({
  /** Number of the first part. What is stored already is not stored again. */
  seq: z.int().positive(),
  parts: z.array(TerminalPart).max(100),
  /** All output up to this number has been shown. */
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
  /** All input up to this number has been typed. */
  ackSeq: z.int().nonnegative(),
})
export type TerminalOutput = z.infer<typeof TerminalOutput>
export const TerminalOutputAck = z.object({ seq: z.int().nonnegative() })
