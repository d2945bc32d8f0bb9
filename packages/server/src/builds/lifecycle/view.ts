/** Conversion of builds to their API form. */
import { isFinalBuild, progressOf, type Plan, type Progress, type Snapshot, type StepState } from '@windlass/plan'
import { Build, type Annotations, type Approval, type BuildStep } from '@windlass/protocol'
import { z } from 'zod'
import { readAnnotations } from '../../annotations/annotations.ts'
import type { App } from '../../app.ts'
import type { Annotated } from '../../store/builds/annotations.ts'
import { listApprovals } from '../../store/builds/approvals.ts'
import { listAttempts } from '../../store/builds/attempts.ts'
import { findBuildPlan, triggerOf } from '../../store/builds/builds.ts'
import { listCarriedFacts } from '../../store/builds/events.ts'
import type { ApprovalRow, AttemptRow, BuildRow } from '../../store/schema.ts'
import { findStartTask, type TaskRecord } from '../../store/runtimes/tasks.ts'
import { showCommitStatus } from '../../statuses/report.ts'
import { readLoss } from './end-attempt.ts'
import { readMissing } from '../engine/missing-log.ts'
import { readPlan, readSnapshot } from '../create/snapshot.ts'
import { present } from './present.ts'

export { present }

const Problems = z.array(Build.shape.problems.unwrap().element)

/** Converts a build to its list form, without steps and attempts. */
export function toBuild(row: BuildRow, display?: Build['display']): Build {
  return {
    id: row.id,
    number: row.number,
    status: row.status,
    initiator: row.initiator,
    trigger: triggerOf(row),
    attempt: row.attempt,
    retries: row.retries,
    createdAt: row.created_at,
    ...present({
      pipeline: row.pipeline,
      pipelineId: row.pipeline_id,
      project: row.project,
      reason: row.reason,
      message: row.message,
      hint: row.hint,
      branch: row.branch,
      revision: row.revision,
      commit: commitOf(row),
      runtime: row.runtime,
      display,
      restartOf: row.restart_of,
      parent: row.parent_id,
      startedAt: row.started_at,
      finishedAt: row.finished_at,
    }),
  }
}

function commitOf({ commit_message: message, commit_author: author }: BuildRow): Build['commit'] {
  return message === null && author === null ? undefined : present({ message, author })
}

/** Returns the progress of a build. Nothing runs in a build that has ended. */
export function shownProgress({ status }: BuildRow, { current, ...counts }: Progress): Build['progress'] {
  return { ...counts, ...(!isFinalBuild(status) && present({ current })) }
}

/** Returns the complete form of a build, with steps and attempts. */
export async function describeBuild(app: App, row: BuildRow): Promise<Build> {
  const { query } = app.store
  const stored = await findBuildPlan(query, row.id)
  const plan = stored === undefined ? undefined : readPlan(stored)
  const attempts = await listAttempts(query, row.id)
  const last = attempts.at(-1)
  const start = last?.status === 'created' ? await findStartTask(query, { id: row.id, attempt: last.number }) : undefined
  const annotations = await readAnnotations(query, annotatedBuild(row))
  const carried = new Map((await listCarriedFacts(query, row.id)).map(({ at, data }) => [stepOf(data), at]))
  const snapshot = plan === undefined ? undefined : await readSnapshot(app, query, { build: row, plan, open: false })
  return {
    ...toBuild(row, displayOf(annotations)),
    ...(plan !== undefined && snapshot !== undefined && { progress: shownProgress(row, progressOf(plan, snapshot)) }),
    annotations: annotations.values,
    ...(typeof stored?.problems === 'string' && { problems: Problems.parse(JSON.parse(stored.problems)) }),
    steps: plan === undefined || snapshot === undefined ? [] : toSteps(row, plan, { snapshot, carried }),
    attempts: attempts.map((attempt) => toAttempt(attempt, start)),
    approvals: (await listApprovals(query, row.id)).map(toApproval),
    ...present({
      commitStatus:
        typeof stored?.commit_target === 'string' ? await showCommitStatus(query, row, stored.commit_target) : undefined,
    }),
  }
}

/** Converts an approval to its API form. */
export function toApproval(row: ApprovalRow): Approval {
  const { decided_by: name, decider_type: type } = row
  return {
    step: row.step,
    waitingSince: row.waiting_since,
    expiresAt: row.expires_at,
    ...present({
      decision: row.decision,
      by: name === null || type === null ? null : { name, type },
      comment: row.comment,
      decidedAt: row.decided_at,
    }),
  }
}

function toAttempt(row: AttemptRow, start: TaskRecord | undefined): NonNullable<Build['attempts']>[number] {
  const status = {
    created: (start?.revision ?? 0) > 0 ? 'starting' : 'created',
    started: 'running',
    suspect: 'suspect',
    lost: 'suspect',
    ended: 'ended',
  } as const
  return {
    number: row.number,
    status: status[row.status],
    createdAt: row.created_at,
    ...present({
      result: row.result,
      reason: row.reason ?? row.waiting_reason,
      message: row.message ?? row.waiting_message,
      pairId: row.pair_id,
      startedAt: row.started_at,
      endedAt: row.ended_at,
      retryDecision: readLoss(row)?.decision,
      missingLog: readMissing(row.missing),
    }),
  }
}

function stepOf(data: string): string {
  const fields: unknown = JSON.parse(data)
  return typeof fields === 'object' && fields !== null && 'step' in fields ? String(fields.step) : ''
}

function annotatedBuild({ id, account_id }: BuildRow): Annotated {
  return { account_id, entity: 'build', entity_id: id, kind: 'annotation' }
}

function displayOf({ values, display: name }: Annotations): Build['display'] {
  const value = name === undefined ? undefined : values[name]
  return name === undefined || value === undefined ? undefined : { name, value }
}

interface Known {
  readonly snapshot: Snapshot
  /** Step -> the time when it ended in the repeated build. */
  readonly carried: ReadonlyMap<string, number>
}

function toSteps(build: BuildRow, plan: Plan, { snapshot, carried }: Known): BuildStep[] {
  return plan.steps.map((step) => {
    const state = snapshot.steps[step.name]
    return {
      name: step.name,
      title: step.title,
      type: step.action.kind,
      ...present({ stage: step.stage, parent: step.parent ?? step.hook?.of }),
      ...statusOf(build, state),
      try: state?.try ?? 0,
      ...(state?.finishedAt !== undefined && carried.get(step.name) === state.finishedAt && { carried: true }),
      ...present({ exitCode: state?.exitCode, usage: state?.usage, startedAt: state?.startedAt, finishedAt: state?.finishedAt }),
    }
  })
}

/** Returns the status of a step. In an ended build, steps without a final status were interrupted or never reached. */
function statusOf(build: BuildRow, state: StepState | undefined): Pick<BuildStep, 'status' | 'reason' | 'message' | 'hint'> {
  const status = state?.status ?? 'pending'
  if (isFinalBuild(build.status) && status === 'pending') return { status: 'skipped', reason: 'not-reached' }
  if (isFinalBuild(build.status) && (status === 'running' || status === 'waiting')) {
    return { status: 'terminated', ...present({ reason: build.reason, message: build.message }) }
  }
  return { status, ...present({ reason: state?.reason, message: state?.message, hint: state?.hint }) }
}
