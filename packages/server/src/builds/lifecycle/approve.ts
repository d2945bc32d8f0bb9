/**
 * Approvals. A step asks, or the start of a build (`start-approval.ts`), a person or the timeout decides once, and the build continues. The decision is stored under the lock of the build and
 * recorded as one event of the feed. A running engine receives it as a command, a later engine finds it in its snapshot.
 */
import { defined, fault } from '@windlass/kit'
import { isFinalBuild, REASONS, type Decider } from '@windlass/plan'
import type { EngineEvent } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { noteSubject } from '../../audit/call.ts'
import { queueNotice } from '../../notifications/queue.ts'
import { insertApproval, listApprovals, listOverdueApprovals, START, updateApproval } from '../../store/builds/approvals.ts'
import { findBuildPlan } from '../../store/builds/builds.ts'
import { insertCommand } from '../../store/builds/commands.ts'
import type { ApprovalRow, BuildRow } from '../../store/schema/schema.ts'
import { editBuild, moveBuild, record, saveBuild, type BuildEdit } from './edit.ts'
import { finishBuild, holdUntilGone, releaseVolume } from './ends/end-attempt.ts'
import { readPlan } from '../create/snapshot.ts'
import { decideStart } from './start-approval.ts'
import { endEarly } from './ends/terminate.ts'
import { nameOf } from './view.ts'

export type Decision = NonNullable<ApprovalRow['decision']>

export interface Verdict {
  readonly decision: Decision
  readonly by: Decider
  readonly comment?: string | undefined
}

export interface ApprovalCall extends Verdict {
  /** Optional while exactly one step waits. */
  readonly step?: string | undefined
}

/**
 * Approves or denies a waiting step. Repeating the same decision changes nothing. Throws `not-found`, `approval-missing`, `approval-ambiguous`,
 * `approval-decided`, `build-final`.
 */
export async function decideApproval(app: App, id: string, call: ApprovalCall): Promise<BuildRow> {
  return app.store.write(async (tx) => {
    const edit = await editBuild(tx, id, app.clock.now())
    if (edit === undefined || edit.build.account_id !== app.accountId)
      throw fault('not-found', { message: `Build ${id} does not exist.` })
    const approval = chooseApproval(edit.build, await listApprovals(tx.query, id), call)
    const why = call.comment === undefined ? '' : `: ${call.comment}`
    noteSubject(`${approval.step === START ? 'the start' : approval.step} of ${nameOf(edit.build)} ${call.decision}${why}`)
    if (approval.decision === null) await applyVerdict(edit, approval, call)
    await saveBuild(edit)
    return edit.build
  })
}

function chooseApproval(build: BuildRow, all: readonly ApprovalRow[], { step, decision }: ApprovalCall): ApprovalRow {
  const open = all.filter((row) => row.decision === null)
  const decided = all.filter((row) => row.decision !== null).toSorted((a, b) => (a.decided_at ?? 0) - (b.decided_at ?? 0))
  const isOver = isFinalBuild(build.status) || build.status === 'terminating'
  if (step === undefined && open.length > 1 && !isOver) {
    const names = open.map((row) => `"${row.step}"`).join(', ')
    throw fault('approval-ambiguous', { message: `Several steps are waiting for approval: ${names}.` })
  }
  const named = step === undefined ? ((isOver ? undefined : open[0]) ?? decided.at(-1)) : all.find((row) => row.step === step)
  if (named?.decision === decision) return named
  if (typeof named?.decision === 'string')
    throw fault('approval-decided', { message: `${subjectOf(named)} was ${named.decision} by ${named.decided_by}.` })
  if (isOver) throw fault('build-final', { message: `The build has ended: ${build.status}.` })
  if (named === undefined)
    throw fault('approval-missing', step === undefined ? {} : { message: `Step "${step}" is not waiting for approval.` })
  return named
}

function subjectOf({ step }: Pick<ApprovalRow, 'step'>): string {
  return step === START ? 'The build' : `Step "${step}"`
}

/** Stores the decision and continues the build with it. */
async function applyVerdict(edit: BuildEdit, approval: ApprovalRow, { decision, by, comment }: Verdict): Promise<void> {
  const { tx, build, attempt, now } = edit
  const decided = { decision, comment: comment ?? null, decided_by: by.name, decider_type: by.type, decided_at: now }
  const isStart = approval.step === START
  await updateApproval(tx, approval, { ...decided, ...(isStart && { start_decided: 1 }) })
  if (isStart) return (await decideStart(edit, decided)) ? resumeBuild(edit) : undefined
  record(edit, {
    type: 'step.decided',
    data: { step: approval.step, decision, by: { ...by }, ...defined({ comment }) },
  })
  if (attempt?.status === 'started' || attempt?.status === 'suspect') {
    const to = { build_id: build.id, attempt: attempt.number, at: now }
    return insertCommand(tx, to, { type: 'decide', step: approval.step, decision, by: { ...by } })
  }
  if (decision === 'terminated')
    return endEarly(edit, 'expire', { reason: 'approval-timeout', message: timeoutMessage(approval.step) })
  if (build.status === 'pending-approval') resumeBuild(edit)
}

function timeoutMessage(step: string): string {
  return `${REASONS['approval-timeout'].text} Step "${step}" waited for it.`
}

/** Queues the build again, and its next attempt continues with the decision. It does not count as a retry because nothing was lost. */
function resumeBuild(edit: BuildEdit): void {
  if (!moveBuild(edit, 'approve', { reason: 'queued', message: REASONS.queued.text })) return
  holdUntilGone(edit)
  // Without a reservation another build may have the volume by now, so the election chooses again.
  if (edit.build.keeps_volume === 0) edit.build.volume = null
  record(edit, { type: 'build.resumed' })
}

type Waiting = Extract<EngineEvent, { type: 'step.waiting' }>

/** Stores that a step of the live attempt asks for approval. A step that already asked keeps its start of waiting. */
export async function noteApproval(edit: BuildEdit, { step }: Pick<Waiting, 'step'>): Promise<void> {
  const { tx, build, attempt, now } = edit
  if (attempt === undefined) return
  const known = (await listApprovals(tx.query, build.id)).find((row) => row.step === step)
  if (known !== undefined && known.decision !== null) return repeatVerdict(edit, known)
  if (known !== undefined) return updateApproval(tx, known, { attempt: attempt.number })
  const stored = await findBuildPlan(tx.query, build.id)
  const action = (stored === undefined ? undefined : readPlan(stored))?.steps.find(({ name }) => name === step)?.action
  if (action?.kind !== 'pending-approval') return
  await insertApproval(tx, {
    build_id: build.id,
    step,
    account_id: build.account_id,
    attempt: attempt.number,
    waiting_since: now,
    expires_at: now + action.timeoutMs,
    final_state: action.finalState,
    decision: null,
    comment: null,
    decided_by: null,
    decider_type: null,
    decided_at: null,
    seen: 0,
    start_decided: null,
  })
  await queueNotice(tx, build, { now, step })
}

/** Sends an earlier decision again to an attempt that runs all steps from the start and asks for the same approval. */
async function repeatVerdict(edit: BuildEdit, known: ApprovalRow): Promise<void> {
  const { tx, build, attempt, now } = edit
  const { step, decision, decided_by: name, decider_type: type } = known
  if (attempt === undefined || known.seen === 0 || attempt.number <= known.attempt) return
  if (decision === null || name === null || type === null) return
  const verdict = { step, decision, by: { name, type } }
  await updateApproval(tx, known, { attempt: attempt.number, seen: 0 })
  record(edit, { type: 'step.decided', data: { ...verdict, repeated: true } })
  await insertCommand(tx, { build_id: build.id, attempt: attempt.number, at: now }, { type: 'decide', ...verdict })
}

type Decided = Extract<EngineEvent, { type: 'step.decided' }>

/** Records a decision that an engine reports. A decision that the server already stored stays; a decision of the engine itself counts if it is the first. */
export async function recordEngineDecision(edit: BuildEdit, { step, decision, by }: Decided): Promise<void> {
  const { tx, build, now } = edit
  const known = (await listApprovals(tx.query, build.id)).find((row) => row.step === step)
  if (known !== undefined && known.decision !== null) return updateApproval(tx, known, { seen: 1 })
  if (known !== undefined) {
    const decided = { decision, decided_by: by.name, decider_type: by.type, decided_at: now, seen: 1 } as const
    await updateApproval(tx, known, decided)
  }
  record(edit, { type: 'step.decided', data: { step, decision, by: { ...by } } })
}

/**
 * Moves a build to `pending-approval` after its attempt ended because only approvals are left. If a decision came after the engine had left, the
 * build continues at once.
 */
export async function pauseBuild(edit: BuildEdit): Promise<void> {
  const { build } = edit
  const approvals = await listApprovals(edit.tx.query, build.id)
  const open = approvals.filter(({ decision }) => decision === null)
  const missed = approvals.filter(({ decision, seen }) => decision !== null && seen === 0)
  const names = open.map(({ step }) => `"${step}"`).join(', ')
  const message = open.length === 0 ? REASONS.approval.text : `Waiting for approval of ${names}.`
  const hint = `Decide with \`windlass approve ${build.id}\` or \`windlass deny ${build.id}\`.`
  if (!moveBuild(edit, 'wait', { reason: 'approval', message, hint })) return
  if (open.length === 0 && missed.length === 0) {
    await releaseVolume(edit)
    return finishBuild(edit, 'end-error', {
      reason: 'internal',
      message: 'The engine is waiting for an approval that no step requested.',
    })
  }
  record(edit, { type: 'build.waiting', data: { reason: 'approval', message, steps: open.map(({ step }) => step) } })
  if (missed.some(({ decision }) => decision === 'terminated'))
    return endEarly(edit, 'expire', { reason: 'approval-timeout', message: REASONS['approval-timeout'].text })
  if (missed.length > 0) resumeBuild(edit)
}

/** Decides overdue approvals with the outcome that their steps define for a timeout. */
export async function expireApprovals(app: App): Promise<void> {
  const now = app.clock.now()
  for (const id of await listOverdueApprovals(app.store.query, { accountId: app.accountId, now })) {
    await app.store.write(async (tx) => {
      const edit = await editBuild(tx, id, now)
      if (edit === undefined || isFinalBuild(edit.build.status) || edit.build.status === 'terminating') return
      for (const approval of await listApprovals(tx.query, id)) {
        if (approval.decision !== null || approval.expires_at > now) continue
        await applyVerdict(edit, approval, { decision: approval.final_state, by: { name: 'timeout', type: 'timeout' } })
      }
      await saveBuild(edit)
    })
  }
}
