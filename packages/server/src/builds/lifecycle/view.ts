/** Conversion of builds to their API form. */
import { Build, type Annotations, type Approval } from '@windlass/protocol'
import { z } from 'zod'
import { readAnnotations } from '../../annotations/annotations.ts'
import type { App } from '../../app.ts'
import type { Annotated } from '../../store/builds/annotations.ts'
import { listApprovals } from '../../store/builds/approvals.ts'
import { listAttempts } from '../../store/builds/attempts.ts'
import { findBuildPlan, triggerOf } from '../../store/builds/builds.ts'
import { listWaitEvents } from '../../store/builds/events.ts'
import type { ApprovalRow, AttemptRow, BuildRow } from '../../store/schema/schema.ts'
import { findStartTask, type TaskRecord } from '../../store/runtimes/tasks.ts'
import { showCommitStatus } from '../../statuses/report.ts'
import { readLoss } from './ends/end-attempt.ts'
import { readMissing } from '../engine/missing-log.ts'
import { readRequest } from '../create/request.ts'
import { readPlan } from '../create/snapshot.ts'
import { describeSteps } from './describe-steps.ts'
import { present } from './present.ts'
import { sumWaits, waitSpansOf } from './wait-spans.ts'

export { present }

const Problems = z.array(Build.shape.problems.unwrap().element)

/** Returns the build as the audit log names it, such as `build #7 of demo/app`. */
export function nameOf({ number, pipeline }: Pick<BuildRow, 'number' | 'pipeline'>): string {
  return `build #${number}${pipeline === null ? '' : ` of ${pipeline}`}`
}

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
      pipelineVersion: row.pipeline_version,
      file: row.document_file,
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

/** Returns the complete form of a build, with steps and attempts. */
export async function toFullBuild(app: App, row: BuildRow): Promise<Build> {
  const { query } = app.store
  const stored = await findBuildPlan(query, row.id)
  const plan = stored === undefined ? undefined : readPlan(stored)
  const attempts = await listAttempts(query, row.id)
  const last = attempts.at(-1)
  const start = last?.status === 'created' ? await findStartTask(query, { id: row.id, attempt: last.number }) : undefined
  const annotations = await readAnnotations(query, annotatedBuild(row))
  return {
    ...toBuild(row, displayOf(annotations)),
    annotations: annotations.values,
    ...(typeof stored?.problems === 'string' && { problems: Problems.parse(JSON.parse(stored.problems)) }),
    ...present({ git: stored === undefined ? undefined : readRequest(stored).git }),
    waits: sumWaits(waitSpansOf(row, await listWaitEvents(query, row.id)), app.clock.now()),
    steps: [],
    ...(stored !== undefined && plan !== undefined && (await describeSteps(app, row, { stored, plan }))),
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

function annotatedBuild({ id, account_id }: BuildRow): Annotated {
  return { account_id, entity: 'build', entity_id: id, kind: 'annotation' }
}

function displayOf({ values, display: name }: Annotations): Build['display'] {
  const value = name === undefined ? undefined : values[name]
  return name === undefined || value === undefined ? undefined : { name, value }
}
