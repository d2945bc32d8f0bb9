/** What the plan of a job follows from. */
import type { RunnerSection } from '../../config/schema.ts'
import type { FeatureFlags } from '../../job/feature-flags.ts'
import type { Job } from '../../job/payload.ts'
import type { ResolvedSecret } from '../../secrets/resolve-secrets.ts'
import type { Variables } from '../../job/variables.ts'

export interface JobPlanOptions {
  readonly job: Job
  /** Secrets of other stores that the job names. */
  readonly secrets: readonly ResolvedSecret[]
  readonly correlationId: string | undefined
  readonly runner: RunnerSection
  /** Identifies the runner entry. */
  readonly runnerKey: string
  readonly systemId: string
  readonly managerName: string
  readonly version: string
  readonly revision: string
  readonly helperImage: string
  /** Namespace of the manager: that of jobs whose configuration names none. */
  readonly namespace: string
  readonly place: { readonly concurrentId: number; readonly concurrentProjectId: number }
  /** Eight characters that no other pod has. */
  readonly unique: string
  /** PEM texts for the connection to GitLab. */
  readonly tls: { readonly ca?: string | undefined; readonly cert?: string | undefined; readonly key?: string | undefined }
  /** Longest time for which the end of the job waits for a terminal. Seconds. Undefined: the job has no terminals. */
  readonly terminalS?: number | undefined
  /** Epoch milliseconds. */
  readonly now: number
}

/** What follows from the job and its runner, and what further parts of the plan need. */
export interface Derived {
  readonly variables: Variables
  readonly flags: FeatureFlags
}

/** Whether the trace of a job shows each command. */
export function isTraced({ runner }: Pick<JobPlanOptions, 'runner'>, variables: Variables): boolean {
  return runner.debug_trace_disabled !== true && isTrue(variables.valueOf('CI_DEBUG_TRACE'))
}

/** Whether the trace of a job has the output of its services. */
export function showsServices({ runner }: Pick<JobPlanOptions, 'runner'>, variables: Variables): boolean {
  return runner.debug_trace_disabled !== true && isTrue(variables.valueOf('CI_DEBUG_SERVICES'))
}

const isTrue = (value: string | undefined): boolean => value === 'true' || value === '1'
