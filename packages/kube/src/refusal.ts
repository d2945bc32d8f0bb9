/** Converts answers of the API server with an error status to faults. */
import { defined, fault, parseJson } from '@windlass/kit'
import { expiryOf } from './account-token.ts'
import type { ClusterAccess } from './config.ts'
import { Status, type KubeAnswer } from './http.ts'

/** Body of the API server for a path of a kind that it does not have. */
const UNKNOWN_PATH = '404 page not found'

interface RefusedCall {
  readonly method: string
  readonly path: string
  readonly access: Pick<ClusterAccess, 'server' | 'token' | 'hint'>
  /** Epoch milliseconds. */
  readonly now: number
}

/** Returns the fault of an answer, with the message of the API server. */
export function refusal(answer: Pick<KubeAnswer, 'status' | 'text'>, request: RefusedCall): Error {
  const status = Status.safeParse(parseJson(answer.text))
  const text = status.success ? (status.data.message ?? answer.text) : answer.text.slice(0, 1000)
  const details = {
    message: text === '' ? `${request.method} ${request.path}: ${answer.status}` : text,
    httpStatus: answer.status,
    ...(status.success && status.data.reason !== undefined && { kubeReason: status.data.reason }),
  }
  if (answer.status === 401)
    return fault('cluster-refused', { ...details, message: notAccepted(request), ...defined({ hint: request.access.hint }) })
  // Only the API server knows that an object is gone. A 404 page of a proxy in front of it would end builds whose pods exist.
  if (answer.status === 404)
    return fault(status.success || answer.text.trim() === UNKNOWN_PATH ? 'not-found' : 'cluster-unreachable', details)
  if (answer.status === 409) return fault('conflict', details)
  if (answer.status >= 500) return fault('cluster-unreachable', details)
  return fault('cluster-refused', details)
}

/** Says why credentials are not accepted. The API server itself says only `Unauthorized`. */
function notAccepted({ access: { server, token }, now }: RefusedCall): string {
  const given = token?.()
  const expiresAt = given === undefined ? undefined : expiryOf(given)
  return expiresAt !== undefined && expiresAt <= now
    ? `The token for the Kubernetes API at ${server} expired at ${new Date(expiresAt).toISOString()}.`
    : `The Kubernetes API at ${server} does not accept the ${given === undefined ? 'credentials' : 'token'}: Unauthorized.`
}
