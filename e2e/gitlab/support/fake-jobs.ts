/** Jobs of the fake coordinator: their traces, states and artifacts, with the checks of GitLab. */
import { crc32 } from 'node:zlib'
import type { Answer, RecordedRequest } from './fake-routes.ts'
import { parseUpload, type Upload } from './multipart.ts'

/** The part of a job payload that the coordinator itself reads. The rest is sent as it is. */
export interface JobPayload {
  readonly id: number
  readonly token: string
  readonly [field: string]: unknown
}

/** A manager that received a job. */
export interface Given {
  readonly systemId: string
  /** Epoch milliseconds. */
  readonly at: number
}

/** A state that the runner reported. */
export interface ReportedState {
  readonly state: string
  readonly failureReason: string | undefined
  readonly exitCode: number | undefined
  readonly checksum: string | undefined
  readonly bytes: number | undefined
}

export interface FakeJob {
  readonly payload: JobPayload
  readonly given: Given[]
  trace: Buffer
  /** All updates in order, including those with state `running`. */
  readonly updates: ReportedState[]
  /** The first final state that was accepted. */
  final: ReportedState | undefined
  /** Value of the header `Job-Status`. Default: `running`, then the final state. */
  status: string | undefined
  readonly uploads: Upload[]
  /** Artifacts that a download returns. Default: the first upload. */
  artifacts: Buffer | undefined
  /** True if the final trace is checked against the checksum. Answers 412 if it does not match. */
  checksTrace: boolean
  /** What the runner did that GitLab does not allow. Empty for a correct runner. */
  readonly violations: string[]
}

export function newJob(payload: JobPayload): FakeJob {
  return {
    payload,
    given: [],
    trace: Buffer.alloc(0),
    updates: [],
    final: undefined,
    status: undefined,
    uploads: [],
    artifacts: undefined,
    checksTrace: true,
    violations: [],
  }
}

/** Returns the answer to a request without the token of the job, or undefined. */
export function refuse(job: FakeJob | undefined, { headers }: RecordedRequest): Answer | undefined {
  if (job === undefined) return { status: 404, body: { message: '404 Not found' } }
  return headers['job-token'] === job.payload.token ? undefined : { status: 403, body: { message: '403 Forbidden' } }
}

const MAX_PATCH_BYTES = 1024 * 1024

/** Appends a patch that continues the stored trace. Any other one is answered with the size of the trace. */
export function patchTrace(job: FakeJob, { headers, bytes }: RecordedRequest): Answer {
  if (job.final !== undefined)
    return { status: 403, headers: statusHeader(job), body: { message: '403 Forbidden - Job is not running' } }
  const match = /^(\d+)-(\d+)$/.exec(headers['content-range'] ?? '')
  if (match === null) {
    job.violations.push(`the Content-Range "${headers['content-range'] ?? ''}" is not valid`)
    return { status: 400, body: { message: '400 Bad request' } }
  }
  const [start, end] = [Number(match[1]), Number(match[2])]
  if (end - start + 1 !== bytes.length) job.violations.push(`a patch of ${bytes.length} bytes has the range ${start}-${end}`)
  if (bytes.length > MAX_PATCH_BYTES) job.violations.push(`a patch has ${bytes.length} bytes`)
  if (headers['content-type'] !== 'text/plain') job.violations.push(`a patch has the type "${headers['content-type'] ?? ''}"`)
  const isNext = start === job.trace.length
  if (isNext) job.trace = Buffer.concat([job.trace, bytes])
  return { status: isNext ? 202 : 416, headers: { range: `0-${job.trace.length}`, ...statusHeader(job) } }
}

/** Takes a state. The first final one counts; another one is a violation. */
export function updateJob(job: FakeJob, { json }: RecordedRequest): Answer {
  const reported = reportedState(json)
  job.updates.push(reported)
  if (job.final !== undefined) {
    if (reported.state !== job.final.state) job.violations.push(`the state changed from ${job.final.state} to ${reported.state}`)
    return { status: 403, headers: statusHeader(job), body: { message: '403 Forbidden - Job is not running' } }
  }
  if (reported.state !== 'running') {
    if (job.checksTrace && reported.checksum !== traceChecksum(job.trace)) {
      job.trace = Buffer.alloc(0)
      return { status: 412, headers: statusHeader(job) }
    }
    job.final = reported
  }
  return { status: 200, headers: statusHeader(job), body: '200' }
}

/** Returns the checksum of a trace in the form of the API. */
export function traceChecksum(trace: Uint8Array): string {
  return `crc32:${crc32(trace).toString(16).padStart(8, '0')}`
}

function statusHeader({ status, final }: FakeJob): Record<string, string> {
  return { 'job-status': status ?? final?.state ?? 'running' }
}

function reportedState(json: unknown): ReportedState {
  const body = record(json)
  const output = record(body['output'])
  return {
    state: String(body['state']),
    failureReason: text(body['failure_reason']),
    exitCode: number(body['exit_code']),
    checksum: text(output['checksum']),
    bytes: number(output['bytesize']),
  }
}

export function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

/** Stores an upload of artifacts. */
export function uploadArtifacts(job: FakeJob, request: RecordedRequest): Answer {
  const upload = parseUpload(request)
  if (upload === undefined) {
    job.violations.push('an upload of artifacts is not a form with one part named "file"')
    return { status: 400, body: { message: '400 Bad request' } }
  }
  job.uploads.push(upload)
  return { status: 201, body: { id: job.payload.id } }
}
