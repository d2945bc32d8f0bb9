/** What the command ends with; scripts rely on these numbers. */
import { isFault, type FaultCode } from '@windlass/kit/faults'

export const EXIT = {
  success: 0,
  /** A failed build, or an invalid document. */
  failed: 1,
  /** A terminated build, or a wrong command line. */
  usage: 2,
  terminated: 2,
  notFound: 3,
  notAllowed: 4,
  unreachable: 5,
  interrupted: 130,
} as const

const OF_FAULT: Partial<Record<FaultCode, number>> = {
  usage: EXIT.usage,
  'variable-invalid': EXIT.usage,
  'config-invalid': EXIT.usage,
  'request-invalid': EXIT.usage,
  'not-found': EXIT.notFound,
  'file-not-found': EXIT.notFound,
  'runtime-unknown': EXIT.notFound,
  unauthenticated: EXIT.notAllowed,
  forbidden: EXIT.notAllowed,
  'bootstrap-closed': EXIT.notAllowed,
  'server-unreachable': EXIT.unreachable,
  unavailable: EXIT.unreachable,
}

/** Exit code of an error that ended a command; 1 for whatever has no number of its own. */
export function exitCodeOf(error: unknown): number {
  return isFault(error) ? (OF_FAULT[error.code] ?? EXIT.failed) : EXIT.failed
}

/** Exit code of a build that has ended. */
export function exitCodeOfBuild(status: string): number {
  if (status === 'success') return EXIT.success
  return status === 'terminated' ? EXIT.terminated : EXIT.failed
}
