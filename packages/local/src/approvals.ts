/** Approvals of a local build: answered ahead, at the terminal, or by their time limit. */
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
  /** Asks the person who started the build; resolves with undefined when nobody can be asked. */
  readonly ask?: ((step: PlanStep, signal: AbortSignal) => Promise<'approved' | 'denied' | undefined>) | undefined
  /** Who that person is. */
  readonly initiator: string
}

export interface ApprovalPlace {
  readonly plan: Plan
  readonly snapshot: Snapshot
  readonly clock: Clock
  /** Aborted when the build is terminated. */
  readonly cancel: AbortSignal
}

/** The decision about the first step that waits; undefined when the build was terminated meanwhile, or no step waits. */
export async function decideApproval(
  rules: ApprovalRules,
  { plan, snapshot, clock, cancel }: ApprovalPlace,
): Promise<Extract<StepFact, { type: 'step.decided' }> | undefined> {
  const step = plan.steps.find(({ name }) => {
    const { status, reason } = stateOf(snapshot, name)
    return status === 'waiting' && reason === 'approval'
  })
  if (step?.action.kind !== 'pending-approval') return undefined
  const told = await answer(rules, step, { clock, cancel, action: step.action })
  if (cancel.aborted || told === undefined) return undefined
  return { type: 'step.decided', step: step.name, ...told, at: clock.now() }
}

async function answer(
  { approve, deny, ask, initiator }: ApprovalRules,
  step: PlanStep,
  { clock, cancel, action }: Pick<ApprovalPlace, 'clock' | 'cancel'> & { readonly action: ApprovalAction },
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
