/** Exit codes of the command. Scripts rely on these numbers. */
import { isFault, type FaultCode } from '@windlass/kit/faults'

export const EXIT = {
  success: 0,
  /** A failed build, an invalid document, versions that differ, or something that was left or skipped. */
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
  'scope-missing': EXIT.notAllowed,
  'step-key-limited': EXIT.notAllowed,
  'runtime-denied': EXIT.notAllowed,
  'pipeline-out-of-reach': EXIT.notAllowed,
  'bootstrap-code': EXIT.notAllowed,
  'bootstrap-closed': EXIT.notAllowed,
  'server-unreachable': EXIT.unreachable,
  'proxy-answered': EXIT.unreachable,
  unavailable: EXIT.unreachable,
  'forge-unreachable': EXIT.unreachable,
}

/** Returns the exit code for an error that ended a command; 1 by default. */
export function exitCodeOf(error: unknown): number {
  if (!isFault(error)) return EXIT.failed
  return OF_FAULT[error.code] ?? EXIT.failed
}

/** Returns the exit code of several builds: a failed build outweighs a terminated one. */
export function worstOf(codes: readonly number[]): number {
  return codes.find((code) => code === EXIT.failed) ?? codes.find((code) => code !== EXIT.success) ?? EXIT.success
}

/** Returns the exit code for the final status of a build. */
export function exitCodeOfBuild(status: string): number {
  if (status === 'success') return EXIT.success
  return status === 'terminated' ? EXIT.terminated : EXIT.failed
}
