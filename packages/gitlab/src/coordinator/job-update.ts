/** Calls for a running job: its trace and its state. */
import { isFault, rootError } from '@windlass/kit'
import type { IncomingHttpHeaders } from 'node:http'
import { single, type ApiAnswer, type ApiCall, type Calls } from './calls.ts'
import type { FailureReason } from './failure-reasons.ts'
import type { RunnerInfo } from './info.ts'

export interface TracePatch {
  readonly jobId: number
  readonly jobToken: string
  /** Position of the first byte in the trace. */
  readonly offset: number
  /** At least one byte, at most 1 MiB. */
  readonly bytes: Uint8Array
  /** True if the job runs with debug output, which GitLab shows to fewer people. */
  readonly debug?: boolean
  readonly signal?: AbortSignal | undefined
}

export interface JobUpdate {
  readonly jobId: number
  readonly jobToken: string
  readonly state: 'running' | 'success' | 'failed'
  /** Sent as it is: see `reportedReason`. */
  readonly failureReason?: FailureReason | undefined
  readonly exitCode?: number | undefined
  /** CRC-32 (IEEE) and size of the whole trace. */
  readonly output?: { readonly checksum: number; readonly bytes: number }
  readonly signal?: AbortSignal | undefined
}

export interface JobReply {
  /** True if the job is being canceled: its script ends, and `after_script` still runs. */
  readonly canceling: boolean
  /** Interval of the trace that the server asks for. Milliseconds. */
  readonly updateIntervalMs: number | undefined
}

/** The job must stop at once: it was canceled or has failed, or the token is not valid anymore. */
interface Aborted {
  readonly type: 'abort'
  readonly reason: 'canceled' | 'failed' | 'forbidden' | 'gone'
  /** True if the server may have carried out an earlier try of the same call. */
  readonly isRepeated: boolean
}

/** Nothing is known, or the server has a problem; the call can be made again. */
interface Failed {
  readonly type: 'failed'
  readonly reason: string
  /** True if the server may have carried out the call. */
  readonly isUnclear: boolean
}

type TraceAnswer =
  | { readonly type: 'accepted' }
  /** The server has another size: the next patch starts at `offset`. */
  | { readonly type: 'rewind'; readonly offset: number }
  /** The trace does not exist anymore. */
  | { readonly type: 'gone' }
  | Aborted
  | Failed
export type TraceResult = JobReply & TraceAnswer

type UpdateAnswer =
  | { readonly type: 'done' }
  /** The server still checks the trace: repeat the call after the interval. */
  | { readonly type: 'pending' }
  /** The server does not have the whole trace: send it again from the beginning, then repeat the call. */
  | { readonly type: 'resend' }
  | Aborted
  | Failed
export type UpdateResult = JobReply & UpdateAnswer

export type PatchTrace = (patch: TracePatch) => Promise<TraceResult>
export type UpdateJob = (update: JobUpdate) => Promise<UpdateResult>

export interface JobCalls {
  /** Sends bytes of the trace. Rejects only if a signal is aborted. */
  readonly patchTrace: PatchTrace
  /** Sends the state of the job. Rejects only if a signal is aborted. */
  readonly updateJob: UpdateJob
}

export function jobCalls({ call, info }: { readonly call: Calls; readonly info: RunnerInfo }): JobCalls {
  return {
    async patchTrace({ jobId, jobToken, offset, bytes, debug = false, signal }) {
      const range = `${offset}-${offset + bytes.length - 1}`
      const answer = await tryCall(call, {
        method: 'PATCH',
        path: `jobs/${jobId}/trace?debug_trace=${debug}`,
        headers: { 'JOB-TOKEN': jobToken, 'Content-Type': 'text/plain', 'Content-Range': range },
        body: bytes,
        expected: [202],
        signal,
        maxWaitMs: MAX_WAIT_MS,
      })
      return 'type' in answer ? answer : { ...replyOf(answer.headers), ...traceResult(answer) }
    },
    async updateJob(update) {
      const { jobId, jobToken, state, signal } = update
      const answer = await tryCall(call, {
        method: 'PUT',
        path: `jobs/${jobId}`,
        headers: { 'JOB-TOKEN': jobToken },
        body: updateBody(update, info),
        expected: [200, 202],
        signal,
        maxWaitMs: MAX_WAIT_MS,
        isOnce: state !== 'running',
      })
      return 'type' in answer ? answer : { ...replyOf(answer.headers), ...updateResult(answer, state) }
    },
  }
}

/** Errors of a connection that did not open, so the server did not get the call. */
const NEVER_SENT: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

async function tryCall(call: Calls, request: ApiCall): Promise<ApiAnswer | (JobReply & Failed)> {
  try {
    return await call(request)
  } catch (error) {
    if (!isFault(error)) throw error
    const isUnclear = !NEVER_SENT.has(rootError(error).code)
    return { type: 'failed', reason: error.message, isUnclear, canceling: false, updateIntervalMs: undefined }
  }
}

function updateBody({ jobToken, state, failureReason, exitCode, output }: JobUpdate, info: RunnerInfo): object {
  const checksum = output === undefined ? undefined : `crc32:${output.checksum.toString(16).padStart(8, '0')}`
  return {
    info,
    token: jobToken,
    state,
    ...(failureReason !== undefined && { failure_reason: failureReason }),
    // The field is a signed 32-bit number on the server.
    ...(exitCode !== undefined && { exit_code: Math.trunc(exitCode) | 0 }),
    // Older servers read the checksum here.
    ...(output !== undefined && { checksum, output: { checksum, bytesize: output.bytes } }),
  }
}

/** Longest wait of one call that the server can ask for. The sender of a trace has intervals of its own. Milliseconds. */
const MAX_WAIT_MS = 30_000

/** Returns true for a refusal by a proxy, such as while GitLab is upgraded. Those of GitLab are JSON, or name the state of the job. */
function isForeign({ status, json, headers }: ApiAnswer): boolean {
  return (status === 403 || status === 404) && json === undefined && single(headers['job-status']) === undefined
}

function traceResult(answer: ApiAnswer): TraceAnswer {
  if (isForeign(answer)) return failedBy(answer)
  const abort = abortOf(answer)
  if (abort !== undefined) return abort
  if (answer.status === 202) return { type: 'accepted' }
  const offset = answer.status === 416 ? rangeEnd(answer.headers) : undefined
  if (offset !== undefined) return { type: 'rewind', offset }
  return answer.status === 404 ? { type: 'gone' } : failedBy(answer)
}

function updateResult(answer: ApiAnswer, state: JobUpdate['state']): UpdateAnswer {
  if (isForeign(answer)) return failedBy(answer)
  // The answer to a final update has the new state in its header, so a failed job is not a reason to abort here.
  if (answer.status === 200 && state !== 'running') return { type: 'done' }
  const abort = abortOf(answer)
  if (abort !== undefined) return abort
  if (answer.status === 404) return { type: 'abort', reason: 'gone', isRepeated: answer.isRepeated }
  if (answer.status === 200) return { type: 'done' }
  if (answer.status === 202) return { type: 'pending' }
  return answer.status === 412 ? { type: 'resend' } : failedBy(answer)
}

function abortOf({ status, headers, isRepeated }: ApiAnswer): Aborted | undefined {
  const state = single(headers['job-status'])
  if (status === 403) return { type: 'abort', reason: 'forbidden', isRepeated }
  return state === 'canceled' || state === 'failed' ? { type: 'abort', reason: state, isRepeated } : undefined
}

/** After an error of the server or a proxy, the call may have been carried out. */
function failedBy({ reason, status }: ApiAnswer): Failed {
  return { type: 'failed', reason, isUnclear: status >= 500 || status === 408 }
}

/** Shortest and longest interval that the server can ask for. Milliseconds. */
const MIN_INTERVAL_MS = 1_000
const MAX_INTERVAL_MS = 15 * 60_000

function replyOf(headers: IncomingHttpHeaders): JobReply {
  const seconds = Number(single(headers['x-gitlab-trace-update-interval']))
  return {
    canceling: single(headers['job-status']) === 'canceling',
    updateIntervalMs: seconds > 0 ? Math.min(Math.max(seconds * 1000, MIN_INTERVAL_MS), MAX_INTERVAL_MS) : undefined,
  }
}

/** Returns the size of the stored trace from `Range: 0-<size>`. */
function rangeEnd(headers: IncomingHttpHeaders): number | undefined {
  const match = /^\s*\d+-(\d{1,15})\s*$/.exec(single(headers.range) ?? '')
  return match === null ? undefined : Number(match[1])
}
