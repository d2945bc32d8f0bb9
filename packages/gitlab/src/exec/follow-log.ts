/** Reads the log that the helper prints, and shows it as the trace of a job: with titles of stages, masked, without times. */
import type { Attachment } from '@windlass/engine/docker'
import { fault } from '@windlass/kit'
import { decodeFrames } from '../helper/job-log.ts'
import type { JobResult } from '../helper/supervise.ts'
import { openTraceWriter } from '../manager/trace-writer.ts'
import type { ExecPlan } from './exec-plan.ts'

export interface FollowOptions {
  readonly plan: Pick<ExecPlan, 'variables' | 'masksAllTokens'>
  readonly write: (bytes: Buffer) => Promise<void>
}

export interface ShownLog {
  /** Resolves to the result of the job when its log is shown. Rejects if the helper ends before. */
  readonly ended: Promise<JobResult>
  /** True if the log has grown since the last call, or waits for its reader. */
  isMoving(): boolean
  /** Shows a line of a service, masked like the rest. `service` is its position among the services. */
  service(service: number, line: string): void
  /** Shows a last line. */
  write(line: string): Promise<void>
}

const LINE_FEED = 0x0a

/** Longest text of an error of the helper. Characters. */
const TAIL = 2_000

/** Follows the output of a helper. */
export function followLog(output: Attachment['output'], { plan, write }: FollowOptions): ShownLog {
  let shown: Buffer[] = []
  let isLineOpen = false
  let hasGrown = false
  let isWriting = false
  const writer = openTraceWriter(
    {
      intro: [],
      hasSections: false,
      trace: {
        masked: [...plan.variables.masked],
        tokenPrefixes: [],
        masksAllTokens: plan.masksAllTokens,
        hasTimes: false,
        limit: Infinity,
      },
    },
    (bytes) => {
      shown.push(bytes)
      if (bytes.length > 0) isLineOpen = bytes.at(-1) !== LINE_FEED
    },
  )
  /** Ends an output without a line feed, before the title of a stage or the last line. */
  const endLine = (): void => {
    if (isLineOpen) shown.push(Buffer.of(LINE_FEED))
    isLineOpen = false
  }
  const flush = async (): Promise<void> => {
    const bytes = Buffer.concat(shown)
    shown = []
    if (bytes.length === 0) return
    isWriting = true
    try {
      await write(bytes)
    } finally {
      isWriting = false
    }
  }

  async function follow(): Promise<JobResult> {
    let rest: Buffer = Buffer.alloc(0)
    let errors = ''
    let result: JobResult | undefined
    for await (const parts of output) {
      hasGrown = true
      for (const { source, bytes } of parts)
        if (source === 1) rest = Buffer.concat([rest, bytes])
        else errors = (errors + bytes.toString('utf8')).slice(-TAIL)
      const { frames, length } = decodeFrames(rest)
      rest = Buffer.from(rest.subarray(length))
      for (const frame of frames) {
        if (frame.kind === 'control') endLine()
        result = writer.frame(frame) ?? result
      }
      await flush()
    }
    if (result !== undefined) return result
    const why = errors.trim() === '' ? '' : `\n${errors.trimEnd()}`
    throw fault('docker-refused', {
      message: `The helper of the job ended before the job.${why}`,
      hint: 'Run the command again. If the image of the helper has another version than this command, name one with --helper-image.',
    })
  }

  return {
    ended: follow(),
    isMoving() {
      const was = hasGrown || isWriting
      hasGrown = false
      return was
    },
    service(service, line) {
      endLine()
      writer.frame({ kind: `service-${service}`, at: 0, bytes: Buffer.from(`${line}\n`) })
      flush().catch(() => undefined)
    },
    async write(line) {
      endLine()
      // The writer counts in microseconds since the epoch, which are not shown.
      writer.end({ at: 0, text: line })
      await flush()
    },
  }
}
