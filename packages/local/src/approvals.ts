/** Approvals of a local build: decided in advance, at the terminal, or by their timeout. */
import type { Clock } from '@windlass/kit'
import {
  stateOf,
  type ApprovalAction,
  type Decider,
  type Plan,
  type PlanStep,
  type Snapshot,
  type StepFact,
} from '@windlass/plan'

export type Decision = Extract<StepFact, { type: 'step.decided' }>['decision']

export interface ApprovalRules {
  /** Steps that are approved or denied without asking. */
  readonly approve: readonly string[]
  readonly deny: readonly string[]
  /** Asks the user who started the build; resolves with undefined if the user cannot be asked. */
  readonly ask?: ((step: PlanStep, signal: AbortSignal) => Promise<'approved' | 'denied' | undefined>) | undefined
  /** Name of that user. */
  readonly initiator: string
}

export interface ApprovalContext {
  readonly plan: Plan
  readonly snapshot: Snapshot
  readonly clock: Clock
  /** Aborted when the build is terminated. */
  readonly cancel: AbortSignal
}

/** Returns the decision about the first waiting step; undefined if the build was terminated in the meantime or no step waits. */
export async function decideApproval(
  rules: ApprovalRules,
  { plan, snapshot, clock, cancel }: ApprovalContext,
): Promise<Extract<StepFact, { type: 'step.decided' }> | undefined> {
  const step = plan.steps.find(({ name }) => {
    const { status, reason } = stateOf(snapshot, name)
    return status === 'waiting' && reason === 'approval'
  })
  if (step?.action.kind !== 'pending-approval') return undefined
  const decided = await answer(rules, step, { clock, cancel, action: step.action })
  if (cancel.aborted || decided === undefined) return undefined
  return { type: 'step.decided', step: step.name, ...decided, at: clock.now() }
}

async function answer(
  { approve, deny, ask, initiator }: ApprovalRules,
  step: PlanStep,
  { clock, cancel, action }: Pick<ApprovalContext, 'clock' | 'cancel'> & { readonly action: ApprovalAction },
): Promise<{ decision: Decision; by: Decider } | undefined> {
  const person: Decider = { name: initiator, type: 'user' }
  if (deny.includes(step.name)) return { decision: 'denied', by: person }
  if (approve.includes(step.name)) return { decision: 'approved', by: person }
  const done = new AbortController()
  const signal = AbortSignal.any([done.signal, cancel])
  const timedOut = clock.sleep(action.timeoutMs, signal).then(
    () => ({ decision: action.finalState, by: { name: 'time limit', type: 'timeout' } }),
    () => undefined,
  )
  const asked = ask?.(step, signal).then((decision) => (decision === undefined ? timedOut : { decision, by: person }))
  try {
    return await Promise.race([timedOut, ...(asked === undefined ? [] : [asked])])
  } finally {
    done.abort()
  }
}
