/** Converts answers of the API server with an error status to faults. */
import { fault, parseJson } from '@windlass/kit'
import { Status, type KubeAnswer } from './http.ts'

/** Body of the API server for a path of a kind that it does not have. */
const UNKNOWN_PATH = '404 page not found'

/** Returns the fault of an answer, with the message of the API server. */
export function refusal(
  answer: Pick<KubeAnswer, 'status' | 'text'>,
  request: { readonly method: string; readonly path: string },
): Error {
  const status = Status.safeParse(parseJson(answer.text))
  const text = status.success ? (status.data.message ?? answer.text) : answer.text.slice(0, 1000)
  const details = {
    message: text === '' ? `${request.method} ${request.path}: ${answer.status}` : text,
    httpStatus: answer.status,
    ...(status.success && status.data.reason !== undefined && { kubeReason: status.data.reason }),
  }
  // Only the API server knows that an object is gone. A 404 page of a proxy in front of it would end builds whose pods exist.
  if (answer.status === 404)
    return fault(status.success || answer.text.trim() === UNKNOWN_PATH ? 'not-found' : 'cluster-unreachable', details)
  if (answer.status === 409) return fault('conflict', details)
  if (answer.status >= 500) return fault('cluster-unreachable', details)
  return fault('cluster-refused', details)
}
