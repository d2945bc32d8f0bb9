/**
 * Approvals: a step asks, a person or the clock decides once, the build goes on. The decision is a row written under the lock of the
 * build and one event of the feed; an engine that lives is told by a command, one that comes later finds it in its snapshot.
 */
import { fault } from '@windlass/kit'
import { isFinalBuild, REASONS, type Decider } from '@windlass/plan'
import type { EngineEvent } from '@windlass/protocol'
import type { App } from '../app.ts'
import { insertApproval, listApprovals, listOverdueApprovals, updateApproval } from '../store/approvals.ts'
import { findBuildPlan } from '../store/builds.ts'
import { insertCommand } from '../store/commands.ts'
import type { ApprovalRow, BuildRow } from '../store/schema.ts'
import { editBuild, moveBuild, record, saveBuild, type BuildEdit } from './edit.ts'
import { finishBuild, holdUntilGone, releaseVolume } from './lose.ts'
import { readPlan } from './snapshot.ts'
import { endEarly } from './terminate.ts'

export type Decision = NonNullable<ApprovalRow['decision']>

export interface Verdict {
  readonly decision: Decision
  readonly by: Decider
  readonly comment?: string | undefined
}

export interface ApprovalCall extends Verdict {
  /** May be left out while one step alone waits. */
  readonly step?: string | undefined
}

/**
 * Decides about a step that waits. The same decision again changes nothing. Throws `not-found`, `approval-missing`, `approval-ambiguous`,
 * `approval-decided`, `build-final`.
 */
export async function decideApproval(app: App, id: string, call: ApprovalCall): Promise<BuildRow> {
  return app.store.write(async (tx) => {
    const edit = await editBuild(tx, id, app.clock.now())
    if (edit === undefined || edit.build.account_id !== app.accountId)
      throw fault('not-found', { message: `There is no build ${id}.` })
    const approval = chooseApproval(edit.build, await listApprovals(tx.query, id), call)
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
    throw fault('approval-ambiguous', { message: `Several steps wait for approval: ${names}.` })
  }
  const named = step === undefined ? ((isOver ? undefined : open[0]) ?? decided.at(-1)) : all.find((row) => row.step === step)
  if (named?.decision === decision) return named
  if (typeof named?.decision === 'string')
    throw fault('approval-decided', { message: `Step "${named.step}" was ${wordOf(named.decision)} by ${named.decided_by}.` })
  if (isOver) throw fault('build-final', { message: `The build has ended: ${build.status}.` })
  if (named === undefined)
    throw fault('approval-missing', step === undefined ? {} : { message: `Step "${step}" does not wait for approval.` })
  return named
}

function wordOf(decision: Decision): string {
  return decision === 'terminated' ? 'given up' : decision
}

/** Writes the decision once and lets the build go on with it. */
async function applyVerdict(edit: BuildEdit, approval: ApprovalRow, { decision, by, comment }: Verdict): Promise<void> {
  const { tx, build, attempt, now } = edit
  await updateApproval(tx, approval, {
    decision,
    comment: comment ?? null,
    decided_by: by.name,
    decider_type: by.type,
    decided_at: now,
  })
  record(edit, {
    type: 'step.decided',
    data: { step: approval.step, decision, by: { ...by }, ...(comment !== undefined && { comment }) },
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

/** Back into the queue: the next attempt goes on from what is decided. No retry: nothing was lost. */
function resumeBuild(edit: BuildEdit): void {
  if (!moveBuild(edit, 'approve', { reason: 'queued', message: REASONS.queued.text })) return
  holdUntilGone(edit)
  // Without a reservation the volume may be another build's by now: the election chooses anew.
  if (edit.build.keeps_volume === 0) edit.build.volume = null
  record(edit, { type: 'build.resumed' })
}

type Waiting = Extract<EngineEvent, { type: 'step.waiting' }>

/** A step of the live attempt asks for approval. One that asked before goes on waiting since then. */
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
  })
}

/** An attempt that has to run all steps again asks for what was decided before: the decision stands. */
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

/** An engine repeats a decision that it was told of, which is on record; one that it made itself counts when nobody was faster. */
export async function hearDecision(edit: BuildEdit, { step, decision, by }: Decided): Promise<void> {
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
 * An attempt ended because all that is left waits for people. The build waits with it, unless a decision was made that the engine left
 * without.
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
      message: 'The engine waits for an approval that no step asked for.',
    })
  }
  record(edit, { type: 'build.waiting', data: { reason: 'approval', message, steps: open.map(({ step }) => step) } })
  if (missed.some(({ decision }) => decision === 'terminated'))
    return endEarly(edit, 'expire', { reason: 'approval-timeout', message: REASONS['approval-timeout'].text })
  if (missed.length > 0) resumeBuild(edit)
}

/** Decides about approvals whose time is over, as their steps say. */
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
