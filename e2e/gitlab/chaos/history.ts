/** What is observed of a run of chaos with GitLab jobs: by GitLab, by the scripts themselves, and by the administrator of the cluster. The checker sees only this. */

export interface Expected {
  /** Output of the script between its marks, with `[MASKED]` for its secret. */
  readonly output: string
  readonly exitCode: number
  /** File that the job uploads if it succeeds. */
  readonly artifact: { readonly name: string; readonly content: string } | undefined
}

/** Something that was done to one job. `canceling` and `aborted` are by a user of GitLab, who lets `after_script` run or not. */
export interface Harm {
  readonly type: 'canceling' | 'aborted' | 'pod-deleted'
  /** Epoch milliseconds, like all times. */
  readonly at: number
}

/** A call of the runner with its answer. Status 202 accepts a patch, 200 a state, 201 an upload. */
export type Call =
  | { readonly type: 'patch'; readonly at: number; readonly status: number; readonly start: number; readonly bytes: Buffer }
  | {
      readonly type: 'update'
      readonly at: number
      readonly status: number
      readonly state: string
      readonly reason: string | undefined
      readonly exitCode: number | undefined
      readonly checksum: string | undefined
      readonly bytes: number | undefined
    }
  | { readonly type: 'upload'; readonly at: number; readonly status: number; readonly bytes: Buffer }

export interface JobHistory {
  readonly id: number
  readonly kind: string
  readonly expected: Expected
  /** Value that no trace may have. */
  readonly secret: string
  readonly harms: readonly Harm[]
  /** Managers that received the job. */
  readonly given: readonly { readonly systemId: string; readonly at: number }[]
  /** When its script began, as reported by itself. */
  readonly runs: readonly number[]
  /** In the order in which GitLab answered. */
  readonly calls: readonly Call[]
  /** The stored trace. */
  readonly trace: Buffer
}

/** A successful look at the cluster. Two looks are at least a second apart. */
export interface Look {
  readonly at: number
  /** Pods and Secrets with the job to which they belong; undefined for a job that is not known. */
  readonly objects: readonly { readonly name: string; readonly job: number | undefined }[]
  /** Names of Leases of managers. */
  readonly leases: readonly string[]
}

export interface History {
  readonly seed: number
  readonly jobs: readonly JobHistory[]
  /** Managers that were killed. */
  readonly kills: readonly { readonly systemId: string; readonly at: number }[]
  /** When the last fault had ended. */
  readonly calmAt: number
  readonly looks: readonly Look[]
  /** Names of the Leases of the managers that live at the end. */
  readonly living: readonly string[]
}

/** Numbers of the rules: see `check.ts`. */
export interface Violation {
  readonly rule: number
  readonly job: number | undefined
  readonly text: string
}

export type Update = Extract<Call, { type: 'update' }>

/** Returns the final state that GitLab accepted first. */
export function acceptedFinal({ calls }: Pick<JobHistory, 'calls'>): Update | undefined {
  return calls.find((call): call is Update => call.type === 'update' && call.state !== 'running' && call.status === 200)
}
