/** Why a job failed, in the words of the runner API of GitLab. */

export const FAILURE_REASONS = [
  'script_failure',
  'runner_system_failure',
  'job_execution_timeout',
  'image_pull_failure',
  'unknown_failure',
  'runner_configuration_error',
  'runner_external_dependency_failure',
  'runner_interrupted',
  'job_canceled',
] as const

export type FailureReason = (typeof FAILURE_REASONS)[number]

/** Reasons that every version of GitLab accepts. */
const ALWAYS: ReadonlySet<string> = new Set<FailureReason>(['script_failure', 'runner_system_failure', 'job_execution_timeout'])

/** What replaces a reason that the server does not list. */
const OLDER: Partial<Record<FailureReason, FailureReason>> = {
  image_pull_failure: 'runner_system_failure',
  runner_configuration_error: 'script_failure',
  runner_external_dependency_failure: 'runner_system_failure',
}

/**
 * Returns the reason to send for a job whose `features.failure_reasons` is `supported`. Rule of the runner API of GitLab: a server only accepts the
 * reasons of this list and the three that existed before it. No reason means a failed script.
 */
export function reportedReason(reason: FailureReason | undefined, supported: readonly string[]): FailureReason {
  if (reason === undefined) return 'script_failure'
  if (ALWAYS.has(reason) || supported.includes(reason)) return reason
  return OLDER[reason] ?? 'unknown_failure'
}

/** The registry or the network between it and the node. These are checked first, because their messages may contain "not found" as well. */
const NETWORK = [
  'dial tcp',
  'connection refused',
  'no such host',
  'i/o timeout',
  'tls handshake',
  'client.timeout exceeded',
  'request canceled',
  'connection reset',
]
/** The image does not exist, or the login is missing or wrong. */
const CONFIGURATION = [
  'not found',
  'manifest unknown',
  'pull access denied',
  'access to the resource is denied',
  'no basic auth credentials',
  'repository does not exist or may require',
  'unauthorized',
  'authentication required',
]

/** Returns the reason for an image that cannot be pulled, from the message of the container runtime. */
export function pullFailureReason(message: string): FailureReason {
  const text = message.toLowerCase()
  if (NETWORK.some((part) => text.includes(part))) return 'runner_external_dependency_failure'
  if (CONFIGURATION.some((part) => text.includes(part))) return 'runner_configuration_error'
  return 'image_pull_failure'
}
