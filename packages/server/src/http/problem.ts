/** Conversion of thrown errors to RFC 9457 problem documents. */
import { fault, isFault, type Fault } from '@windlass/kit'
import type { ProblemDocument } from '@windlass/protocol'
import { storeFaultOf } from '../store/database/transient.ts'

/** Messages for failures of the store. `conflict` has no details, because they would name columns. */
const MESSAGES = {
  unavailable: 'The database or its disk does not respond.',
  'storage-full': 'The disk of the server is full.',
  conflict: 'Another call created the same resource at the same time.',
} as const

/** Converts an error to a fault: the fault itself, an error of fastify or the store, or a bug. */
export function toFault(error: unknown): Fault {
  if (isFault(error)) return error
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  const message = error instanceof Error ? error.message : String(error)
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return fault('payload-too-large', {}, error)
  if (code.startsWith('FST_ERR_CTP') || error instanceof SyntaxError)
    return fault(
      'request-invalid',
      {
        message: `The body cannot be read: ${message}`,
        hint: 'Check the Content-Type, the Content-Length and the encoding of the body.',
      },
      error,
    )
  const meaning = storeFaultOf(error)
  return meaning === undefined ? fault('internal', {}, error) : fault(meaning, { message: MESSAGES[meaning] }, error)
}

/** Returns the fault for a call that no route accepts. Calls below `/api` are correct calls of public clients that Windlass does not support. */
export function unknownRoute(method: string, url: string): Fault {
  if (!url.startsWith('/api/')) return fault('not-found', { message: `Route ${method} ${url} does not exist.` })
  return fault('not-supported', { message: `Windlass does not support ${method} ${url}.` })
}

/** Returns the body of an error response. For bugs it contains no details besides the request id. */
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
