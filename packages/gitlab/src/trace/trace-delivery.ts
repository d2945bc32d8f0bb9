/** Sends the bytes of a trace in order: what was sent, what the server has, and what it wants again. */
import type { JobReply, PatchTrace } from '../coordinator/job-update.ts'
import type { TraceSpool } from './trace-spool.ts'

/** Largest patch that the server accepts. Bytes. */
export const PATCH_BYTES = 1024 * 1024

export type PatchOutcome =
  /** Nothing waits, or one patch was accepted. */
  | { readonly type: 'ok' }
  /** The server has another number of bytes; the next patch starts there. */
  | { readonly type: 'moved' }
  | { readonly type: 'gone' }
  /** The spool cannot be read, so nothing more of the trace can be sent. */
  | { readonly type: 'unreadable'; readonly reason: string }
  | { readonly type: 'abort'; readonly reason: string }
  | { readonly type: 'failed'; readonly reason: string }

export interface TraceDelivery {
  /** Number of bytes that wait. Negative if the server has more than was written so far, as after an adoption. */
  readonly waiting: number
  /** Sends one patch. Does nothing if no bytes wait. */
  next(signal: AbortSignal): Promise<PatchOutcome>
  /** Sends the whole trace again. */
  restart(): void
}

export function openTraceDelivery(options: {
  readonly patchTrace: PatchTrace
  readonly spool: TraceSpool
  readonly jobId: number
  readonly jobToken: string
  readonly debug: boolean
  /** Called with each answer. */
  readonly onReply: (reply: JobReply) => void
}): TraceDelivery {
  const { patchTrace, spool, jobId, jobToken, debug, onReply } = options
  let offset = 0
  return {
    get waiting() {
      return spool.size - offset
    },
    async next(signal) {
      if (spool.size <= offset) return { type: 'ok' }
      let bytes: Buffer
      try {
        bytes = await spool.read(offset, PATCH_BYTES)
      } catch (error) {
        return { type: 'unreadable', reason: error instanceof Error ? error.message : String(error) }
      }
      const result = await patchTrace({ jobId, jobToken, offset, bytes, debug, signal })
      onReply(result)
      if (result.type === 'accepted') {
        offset += bytes.length
        return { type: 'ok' }
      }
      if (result.type !== 'rewind') return result
      // A server that refuses a patch and names its own start would get the same patch for ever.
      if (result.offset === offset) return { type: 'failed', reason: `the server refuses the patch at byte ${offset}` }
      offset = result.offset
      return { type: 'moved' }
    },
    restart() {
      offset = 0
    },
  }
}
