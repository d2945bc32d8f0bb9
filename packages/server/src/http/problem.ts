/** From whatever was thrown to an RFC 9457 problem document. */
import { fault, isFault, type Fault } from '@windlass/kit'
import type { ProblemDocument } from '@windlass/protocol'

/** PostgreSQL's classes of connection and resource errors, and sockets that do not connect; the call may succeed later. */
const UNAVAILABLE = /^(08|53|57P0)|^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/

/** The fault behind an error: itself, what fastify or the database mean, or a bug. */
export function toFault(error: unknown): Fault {
  if (isFault(error)) return error
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  const message = error instanceof Error ? error.message : String(error)
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return fault('payload-too-large', {}, error)
  if (code.startsWith('FST_ERR_CTP') || error instanceof SyntaxError)
    return fault('request-invalid', { message: `The body cannot be read: ${message}` }, error)
  if (code === 'ENOSPC' || /database or disk is full/.test(message)) return fault('storage-full', {}, error)
  if (
    UNAVAILABLE.test(code) ||
    /Connection terminated|is not queryable|timeout exceeded when trying to connect|driver has already been destroyed/.test(
      message,
    )
  ) {
    return fault('unavailable', { message: 'The database does not answer.' }, error)
  }
  if (isDiskError(error)) return fault('unavailable', { message: 'The database cannot use its disk.' }, error)
  return fault('internal', {}, error)
}

/** SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR with all their extended codes (https://www.sqlite.org/rescode.html). */
function isDiskError(error: unknown): boolean {
  return (
    error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && [5, 6, 10].includes(error.errcode & 0xff)
  )
}

/** The body of an error answer. Bugs show nothing of themselves but the request id. */
export function toProblem(problem: Fault, requestId: string): ProblemDocument {
  const { offset, offsets, problems } = problem.details
  return {
    type: `urn:windlass:fault:${problem.code}`,
    title: fault(problem.code).message,
    status: problem.status,
    detail: problem.message,
    message: problem.message,
    code: problem.code,
    hint: problem.hint,
    requestId,
    ...(problems !== undefined && { problems: [...problems] }),
    ...(typeof offset === 'number' && { offset }),
    ...(isOffsets(offsets) && { offsets }),
  }
}

function isOffsets(value: unknown): value is Record<string, number> {
  return typeof value === 'object' && value !== null && Object.values(value).every((offset) => typeof offset === 'number')
}
