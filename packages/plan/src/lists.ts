/**
 * The closed lists of build and step states and their reasons. Docs, schemas and tests read this file; nothing else spells them out.
 */

export const BUILD_STATUSES = [
  'pending',
  'delayed',
  'elected',
  'running',
  'pending-approval',
  'terminating',
  'success',
  'error',
  'terminated',
] as const
export type BuildStatus = (typeof BUILD_STATUSES)[number]

export const FINAL_BUILD_STATUSES = ['success', 'error', 'terminated'] as const
export type FinalBuildStatus = (typeof FINAL_BUILD_STATUSES)[number]

export const STEP_STATUSES = ['pending', 'running', 'waiting', 'success', 'error', 'skipped', 'terminated'] as const
export type StepStatus = (typeof STEP_STATUSES)[number]

export const FINAL_STEP_STATUSES = ['success', 'error', 'skipped', 'terminated'] as const
export type FinalStepStatus = (typeof FINAL_STEP_STATUSES)[number]

/** What a person is told about each reason. `blame` says who can mend it; infra reasons are retried as a new attempt. */
export const REASONS = {
  'exit-code': { blame: 'user', text: 'A command ended with a non-zero exit code.' },
  timeout: { blame: 'user', text: 'The time limit was reached.' },
  'out-of-memory': { blame: 'user', text: 'The step was killed because it used more memory than it may.' },
  'image-not-found': { blame: 'user', text: 'The image does not exist, or may not be pulled with these credentials.' },
  'command-not-found': { blame: 'user', text: 'The command, shell or entry point does not exist in the image.' },
  'mount-invalid': { blame: 'user', text: 'A volume cannot be mounted as written.' },
  'clone-failed': { blame: 'user', text: 'The repository could not be cloned at this revision.' },
  'build-failed': { blame: 'user', text: 'The image could not be built.' },
  'push-failed': { blame: 'user', text: 'The image could not be pushed.' },
  'service-failed': { blame: 'user', text: 'A service of the step did not start or did not become ready.' },
  'composition-failed': {
    blame: 'user',
    text: 'A candidate of the composition failed, or the composition could not be started.',
  },
  'deploy-failed': { blame: 'user', text: 'The deployment was refused or did not become ready in time.' },
  'sign-failed': { blame: 'user', text: 'The image could not be signed.' },
  'debug-timeout': { blame: 'user', text: 'The debugger held the step for longer than it may.' },
  'debug-failed': { blame: 'user', text: 'The person at the debugger ended the step as failed.' },
  'condition-error': { blame: 'user', text: 'The condition of the step cannot be evaluated.' },
  'step-failed': { blame: 'user', text: 'A step failed.' },
  denied: { blame: 'user', text: 'The approval was denied.' },
  'invalid-pipeline': { blame: 'user', text: 'The pipeline document has errors.' },
  'invalid-step': { blame: 'user', text: 'A field of the step is wrong once its variables are filled in.' },
  'integration-missing': { blame: 'user', text: 'An integration named in the pipeline does not exist.' },

  'engine-lost': { blame: 'infra', text: 'The engine stopped reporting.' },
  'dind-lost': { blame: 'infra', text: 'The Docker daemon of the build was lost.' },
  'node-lost': { blame: 'infra', text: 'The node that ran the build is gone.' },
  evicted: { blame: 'infra', text: 'Kubernetes evicted a pod of the build.' },
  'pod-deleted': { blame: 'infra', text: 'A pod of the build was deleted from outside.' },
  'pod-rejected': { blame: 'infra', text: 'The cluster refused to create an object of the build.' },
  'pod-image-error': { blame: 'infra', text: 'The image of a build pod cannot be pulled.' },
  'pod-failed': { blame: 'infra', text: 'A pod of the build ended by itself.' },
  'policy-refused': { blame: 'infra', text: 'The policy of the agent does not allow an object of the build.' },
  unschedulable: { blame: 'infra', text: 'No node has room for a pod of the build.' },
  'disk-unavailable': { blame: 'infra', text: 'No disk could be had for the build.' },
  'start-timeout': { blame: 'infra', text: 'The engine did not start in time.' },
  'agent-lost': { blame: 'infra', text: 'The agent stopped answering.' },
  'infra-poison': { blame: 'infra', text: 'The build killed its engine three times in a row.' },
  internal: { blame: 'infra', text: 'A bug on our side.' },

  cancelled: { blame: 'control', text: 'Somebody terminated the build.' },
  'approval-timeout': { blame: 'control', text: 'Nobody decided about the approval in time.' },
  inactive: { blame: 'control', text: 'The build was silent for too long.' },
  'too-long': { blame: 'control', text: 'The build ran for longer than a build may.' },
  'parent-terminated': { blame: 'control', text: 'The build that started this one was terminated.' },
  'queue-expired': { blame: 'control', text: 'The build waited for longer than a build may.' },
  superseded: { blame: 'control', text: 'A newer build took its place.' },
  'not-reached': { blame: 'control', text: 'An earlier step failed.' },
  'condition-false': { blame: 'control', text: 'The condition of the step is not met.' },
  'not-selected': { blame: 'control', text: 'The run was asked to leave this step out.' },

  queued: { blame: 'waiting', text: 'The build waits for its turn.' },
  'pipeline-limit': { blame: 'waiting', text: 'The pipeline runs as many builds at once as it may.' },
  'branch-limit': { blame: 'waiting', text: 'The branch runs as many builds at once as it may.' },
  'trigger-limit': { blame: 'waiting', text: 'The trigger runs as many builds at once as it may.' },
  'pipeline-frozen': { blame: 'waiting', text: 'The pipeline is frozen: it may run no builds.' },
  'account-paused': { blame: 'waiting', text: 'New builds of the account are paused.' },
  'account-limit': { blame: 'waiting', text: 'The account runs as many builds at once as it may.' },
  'runtime-capacity': { blame: 'waiting', text: 'The runtime environment has no room.' },
  'agent-offline': { blame: 'waiting', text: 'The agent of the runtime environment is not connected.' },
  'runtime-missing': { blame: 'waiting', text: 'There is no runtime environment to run on.' },
  'retry-pending': { blame: 'waiting', text: 'The attempt before was lost; its pods must be gone before the next one starts.' },
  approval: { blame: 'waiting', text: 'Somebody has to approve.' },
  debugger: { blame: 'waiting', text: 'A debugger holds the step.' },
} as const satisfies Record<string, { blame: 'user' | 'infra' | 'control' | 'waiting'; text: string }>

export type Reason = keyof typeof REASONS

export const REASON_NAMES = Object.keys(REASONS) as [Reason, ...Reason[]]

export function isFinalBuild(status: BuildStatus): status is FinalBuildStatus {
  return (FINAL_BUILD_STATUSES as readonly string[]).includes(status)
}

export function isFinalStep(status: StepStatus): status is FinalStepStatus {
  return (FINAL_STEP_STATUSES as readonly string[]).includes(status)
}

/** True for a reason whose attempt is repeated by itself. */
export function isInfra(reason: Reason): boolean {
  return REASONS[reason].blame === 'infra'
}
