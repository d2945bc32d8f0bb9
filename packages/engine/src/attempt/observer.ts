/** What metrics take of an attempt besides its events. */
import type { DockerRetry } from '../docker/http.ts'

/** What the containers of a step use that run now. */
export interface StepSample {
  /** Processor time of the step so far, with that of containers that have ended. Milliseconds. */
  readonly cpuMs: number
  /** Memory in use, with the cache of files. */
  readonly memoryUsageBytes: number
  /** The same without the cache that the kernel can drop. */
  readonly workingSetBytes: number
}

export interface AttemptObserver {
  /** Called once a second while containers of a step run. */
  sample(step: string, sample: StepSample): void
  /** Called for a container of a composition when it starts and when it has ended. */
  task(of: { readonly step: string; readonly name: string }, change: 'started' | 'ended'): void
  /** Called before a call of the Docker daemon is repeated. */
  retried(retry: DockerRetry): void
}
