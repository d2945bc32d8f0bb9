/**
 * The approval of a whole build before its start. The build of a pull request from a fork runs the code of a stranger with the secrets of the pipeline, so a user
 * reads the commit first. Nothing of the build exists outside of the database until then. What is approved is this build: its commit and its variables are
 * frozen. A new commit, and another event of the same commit, need another approval.
 */
import { fault } from '@windlass/kit'
import { REASONS } from '@windlass/plan'
import type { App } from '../../app.ts'
import { noteDetail } from '../../audit/call.ts'
import { insertApproval, listApprovals, listHeldStarts, START } from '../../store/builds/approvals.ts'
import type { ApprovalRow } from '../../store/schema/schema.ts'
import { readRequest, type BuildRequest } from '../create/request.ts'
import { record, moveBuild, type BuildEdit } from './edit.ts'
import { finishBuild } from './ends/end-attempt.ts'
import { endAll, endEarly } from './ends/terminate.ts'
import { nameOf } from './view.ts'
import { queueNotice } from '../../notifications/queue.ts'

/** How long a build waits for approval before its start. Milliseconds. */
export const START_APPROVAL_MS = 14 * 86_400_000
/** Maximum number of builds of a pipeline that wait for approval before their start, because strangers create them. */
export const MAX_HELD_STARTS = 100

type Request = Pick<BuildRequest, 'git'>

/**
 * Lets a new build wait for approval, and ends earlier ones of the same pull request that still wait. Throws `conflict` if too many builds of the pipeline
 * wait.
 */
export async function holdStart(edit: BuildEdit, request: Request): Promise<void> {
  const { tx, build, now } = edit
  const held = build.pipeline_id === null ? [] : await listHeldStarts(tx, build.pipeline_id)
  const older = held.filter((one) => one.trigger_name === build.trigger_name && isSamePullRequest(readRequest(one), request))
  if (held.length - older.length >= MAX_HELD_STARTS)
    throw fault('conflict', {
      message: `${MAX_HELD_STARTS} builds of the pipeline already wait for approval.`,
      hint: 'Approve or deny some of them, then replay the delivery.',
    })
  const at = build.revision === null ? '' : ` It is for commit ${build.revision}.`
  const message = `${REASONS['fork-approval'].text}${at}`
  const hint = `Read the change, then decide with \`windlass approve ${build.id}\` or \`windlass deny ${build.id}\`.`
  moveBuild(edit, 'wait', { reason: 'fork-approval', message, hint })
  // Strangers must not use up the limits of the pipeline.
  build.approval_counts = 0
  record(edit, { type: 'build.waiting', data: { reason: 'fork-approval', message, steps: [] } })
  await insertApproval(tx, {
    build_id: build.id,
    step: START,
    account_id: build.account_id,
    attempt: 0,
    waiting_since: now,
    expires_at: now + START_APPROVAL_MS,
    final_state: 'terminated',
    decision: null,
    comment: null,
    decided_by: null,
    decider_type: null,
    decided_at: null,
    // No engine waits for it.
    seen: 1,
    start_decided: null,
  })
  await queueNotice(tx, build, { now, step: START })
  await endAll(
    edit,
    older.map(({ build_id: id }) => id),
    { reason: 'superseded', message: `Superseded by build ${build.number}.` },
  )
}

function isSamePullRequest({ git: one }: Request, { git: other }: Request): boolean {
  const number = one?.pullRequest?.number
  const isSameRepo = one?.repoOwner === other?.repoOwner && one?.repoName === other?.repoName
  return number !== undefined && number === other?.pullRequest?.number && isSameRepo
}

/** Returns true if the request repeats a build that was not approved, at the same commit. A caller who names another commit has chosen it. */
export async function repeatsHeldStart(
  app: App,
  { restartOf, branch, revision }: Pick<BuildRequest, 'restartOf' | 'branch' | 'revision'>,
): Promise<boolean> {
  if (restartOf === undefined || branch !== undefined || revision !== undefined) return false
  return isHeldStart(app, restartOf)
}

/** Returns true if a build needed an approval to start and did not get it. */
export async function isHeldStart(app: App, buildId: string): Promise<boolean> {
  const start = (await listApprovals(app.store.query, buildId)).find(({ step }) => step === START)
  return start !== undefined && start.decision !== 'approved'
}

type Decided = Pick<ApprovalRow, 'decision' | 'comment' | 'decided_by' | 'decider_type'>

/** Records the decision on the start of a build, and ends the build unless it was approved. Returns true if the build may start. */
export async function decideStart(edit: BuildEdit, decided: Decided): Promise<boolean> {
  const { build } = edit
  const { decision, comment, decided_by: name, decider_type: type } = decided
  record(edit, { type: 'build.decided', data: { decision, by: { name, type }, ...(comment !== null && { comment }) } })
  noteDetail(`the start of ${nameOf(build)} at commit ${build.revision} ${decision}`)
  if (decision === 'approved') return true
  if (decision === 'denied') finishBuild(edit, 'end-error', { reason: 'denied', message: `Denied by ${name}.` })
  else await endEarly(edit, 'expire', { reason: 'approval-timeout', message: REASONS['approval-timeout'].text })
  return false
}
