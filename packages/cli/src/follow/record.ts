/** The final record of a build, which `-o json` prints. It is the same for builds on a server and local builds. */
import { defined } from '@windlass/kit/defined'
import type { Problem } from '@windlass/kit/faults'
import type { Build, BuildStep } from '@windlass/protocol'

/** Times are epoch milliseconds. Unknown values are null, so that scripts find every key. */
export interface StepRecord {
  readonly name: string
  readonly title: string
  /** The group that contains it, or the step whose hook it is. */
  readonly parent: string | null
  readonly type: string
  readonly status: string
  readonly reason: string | null
  readonly message: string | null
  readonly hint: string | null
  readonly exitCode: number | null
  /** Peak usage; null for a step that took less than a second. */
  readonly usage: NonNullable<BuildStep['usage']> | null
  readonly startedAt: number | null
  readonly finishedAt: number | null
}

export interface BuildRecord {
  /** Null for a local build. */
  readonly id: string | null
  readonly number: number | null
  readonly pipeline: string | null
  readonly status: string
  readonly reason: string | null
  readonly message: string | null
  readonly hint: string | null
  readonly branch: string | null
  readonly revision: string | null
  readonly runtime: string | null
  readonly attempt: number
  readonly createdAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly problems?: readonly Problem[]
  /** Name of the step to blame for a failure. */
  readonly blame: string | null
  readonly steps: readonly StepRecord[]
}

/** Returns the record of a build on a server. */
export function toRecord(build: Build): BuildRecord {
  const problems = build.problems?.map(({ severity, ...problem }): Problem => ({
    ...problem,
    severity: severity === 'warning' ? 'warning' : 'error',
  }))
  return {
    id: build.id,
    number: build.number,
    pipeline: build.pipeline ?? null,
    status: build.status,
    reason: build.reason ?? null,
    message: build.message ?? null,
    hint: build.hint ?? null,
    branch: build.branch ?? null,
    revision: build.revision ?? null,
    runtime: build.runtime ?? null,
    attempt: build.attempt,
    createdAt: build.createdAt,
    startedAt: build.startedAt ?? null,
    finishedAt: build.finishedAt ?? null,
    ...defined({ problems }),
    blame: build.blame ?? null,
    steps: (build.steps ?? []).map(toStepRecord),
  }
}

function toStepRecord(step: BuildStep): StepRecord {
  return {
    name: step.name,
    title: step.title,
    parent: step.parent ?? null,
    type: step.type,
    status: step.status,
    reason: step.reason ?? null,
    message: step.message ?? null,
    hint: step.hint ?? null,
    exitCode: step.exitCode ?? null,
    usage: step.usage ?? null,
    startedAt: step.startedAt ?? null,
    finishedAt: step.finishedAt ?? null,
  }
}
