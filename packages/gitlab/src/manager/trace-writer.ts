/** Turns the frames of the log of a job, and what the manager adds, into its trace. The same input gives the same bytes. */
import { z } from 'zod'
import { serviceOf, type Frame } from '../helper/job-log.ts'
import type { JobResult } from '../helper/supervise.ts'
import { openTraceFormat, STREAMS } from '../trace/trace-format.ts'
import type { JobEnd } from '../trace/trace-sender.ts'
import type { JobRecord, Note } from './records/job-record.ts'
import { sectionEnd, sectionStart, titled } from './sections.ts'

export interface TraceWriter {
  /** Adds a line of the manager. */
  note(note: Note): void
  /** Adds a frame. Returns the result of the job if it is the last one. */
  frame(frame: Frame): JobResult | undefined
  /** Adds the last line and ends the trace. */
  end(line: Note): void
}

const Result = z.union([
  z.object({ state: z.literal('success') }),
  z.object({
    state: z.literal('failed'),
    reason: z.enum(['script_failure', 'runner_system_failure', 'job_execution_timeout', 'job_canceled']),
    stage: z.string(),
    exitCode: z.int().optional(),
    limitS: z.number().optional(),
  }),
])

const Control = z.discriminatedUnion('type', [
  z.object({ type: z.literal('stage-start'), name: z.string(), title: z.string() }),
  z.object({ type: z.literal('stage-end'), name: z.string() }),
  z.object({ type: z.literal('end'), result: Result }),
])

/** Opens the trace of a job. `append` takes its bytes in order. */
export function openTraceWriter(
  record: Pick<JobRecord, 'intro' | 'hasSections' | 'trace'>,
  append: (bytes: Buffer) => void,
): TraceWriter {
  const format = openTraceFormat(record.trace)
  const write = (stream: number, at: number, bytes: Buffer): void => append(format.write({ stream, at, bytes }))
  const say = (at: number, text: string): void => write(STREAMS.executor, at, Buffer.from(text))
  for (const { at, text } of record.intro) say(at, text)
  return {
    note: ({ at, text }) => say(at, text),
    frame({ kind, at, bytes }) {
      if (kind !== 'control') {
        const service = serviceOf(kind)
        const usual = kind === 'work' ? STREAMS.work : STREAMS.executor
        write(service === undefined ? usual : STREAMS.firstService + service, at, bytes)
        return undefined
      }
      const control = Control.parse(JSON.parse(bytes.toString('utf8')))
      if (control.type === 'end') return control.result
      const ms = at / 1_000
      if (control.type === 'stage-end') {
        if (record.hasSections) say(at, sectionEnd(control.name, ms))
        return undefined
      }
      say(at, `${record.hasSections ? sectionStart(control.name, ms) : ''}${titled(control.title)}`)
      return undefined
    },
    end({ at, text }) {
      say(at, text)
      append(format.end())
    },
  }
}

/** Returns the final state of a job that ended by itself. */
export function jobEnd(result: JobResult): JobEnd {
  if (result.state === 'success') return { state: 'success' }
  return { state: 'failed', failureReason: result.reason, exitCode: result.exitCode }
}

/** Returns why a job failed that ended by itself, as `endLine` takes it; undefined for success. */
export function failureText(result: JobResult, { timeoutS }: Pick<JobRecord, 'timeoutS'>): string | undefined {
  return result.state === 'success' ? undefined : reasonText(result, timeoutS)
}

/** Returns the last line of the trace of a job that succeeded, or failed for a reason. */
export function endLine(failure: string | undefined): string {
  return failure === undefined ? '\u001B[32;1mJob succeeded\u001B[0;m\n' : failureLine(failure)
}

/** Returns the last line of the trace of a job that failed. */
export function failureLine(text: string): string {
  return `\u001B[31;1mERROR: ${failureMessage(text)}\u001B[0;m\n`
}

/** Returns the sentence of `failureLine` without its colors. */
export function failureMessage(text: string): string {
  return `Job failed${text}`
}

function reasonText(result: Extract<JobResult, { state: 'failed' }>, timeoutS: number): string {
  const { reason, exitCode, stage, limitS } = result
  if (reason === 'job_execution_timeout' && limitS !== undefined) return `: the stage ${stage} took longer than ${limitS} seconds`
  if (reason === 'job_execution_timeout') return `: execution took longer than ${timeoutS} seconds`
  if (reason === 'job_canceled') return ': canceled'
  if (reason === 'runner_system_failure') return ` (system failure): the stage ${stage} ended with exit code ${exitCode ?? 1}`
  return `: command terminated with exit code ${exitCode ?? 1}`
}
