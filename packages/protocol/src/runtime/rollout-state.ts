/** How far a rollout is, as the controller of Argo Rollouts has written it. App-proxies and the server read it from objects of different trust, and must agree. */
import { ROLLOUT_PHASES, type RolloutPhase } from './gitops-rollouts.ts'

type Maybe<T> = T | null | undefined

/** The fields of a Rollout (`argoproj.io/v1alpha1`) that decide. */
export interface RolloutObject {
  readonly metadata: { readonly generation?: number | undefined }
  readonly spec: {
    readonly strategy?: Maybe<{ readonly canary?: Maybe<{ readonly steps: readonly Readonly<Record<string, unknown>>[] }> }>
  }
  readonly status?: Maybe<{
    readonly phase?: string | undefined
    readonly message?: string | undefined
    readonly abort: boolean
    readonly controllerPause: boolean
    readonly observedGeneration?: string | undefined
    readonly pauseConditions: readonly object[]
    readonly currentPodHash?: string | undefined
    readonly stableRS?: string | undefined
    readonly currentStepIndex?: number | undefined
    readonly canary?: Maybe<{
      readonly weights?: Maybe<{ readonly canary?: Maybe<{ readonly weight?: number | undefined }> }>
    }>
  }>
}

/** True once the current revision is the stable one. */
export function isCompleteRollout({ status }: RolloutObject): boolean {
  return status?.stableRS !== undefined && status.stableRS === status.currentPodHash
}

/** Returns the index of the step of a canary at which the rollout is; the number of steps after the last one. */
export function rolloutStepOf(rollout: RolloutObject): number {
  const steps = rollout.spec.strategy?.canary?.steps ?? []
  return rollout.status?.currentStepIndex ?? (isCompleteRollout(rollout) ? steps.length : 0)
}

/** Returns the percentage that the current revision should have: what the router of traffic has set, or the last weight up to the current step. */
export function rolloutWeightOf(rollout: RolloutObject): number | undefined {
  const { spec, status } = rollout
  const { canary } = spec.strategy ?? {}
  if (canary === undefined || canary === null) return undefined
  const routed = status?.canary?.weights?.canary?.weight
  if (routed !== undefined) return routed
  if (isCompleteRollout(rollout)) return 100
  if (status?.abort === true) return 0
  // Without steps all pods are replaced at once.
  if (canary.steps.length === 0) return 100
  const current = rolloutStepOf(rollout)
  if (current >= canary.steps.length) return 100
  const weights = canary.steps.slice(0, current + 1).map(({ setWeight }) => setWeight)
  const last = weights.findLast((weight) => typeof weight === 'number')
  return last === undefined ? 0 : Number(last)
}

/** A phase counts only for what the controller has seen. */
export function rolloutPhaseOf({ metadata, status }: RolloutObject): { readonly phase: RolloutPhase; readonly message?: string } {
  const seen = Number(status?.observedGeneration)
  if (metadata.generation !== undefined && seen < metadata.generation)
    return { phase: 'progressing', message: 'The controller has not seen the last change yet.' }
  if (status?.controllerPause === true && status.pauseConditions.length === 0)
    return { phase: 'progressing', message: 'The controller goes on.' }
  const phase = ROLLOUT_PHASES.find((name) => name === status?.phase?.toLowerCase()) ?? 'unknown'
  return { phase, ...(status?.message !== undefined && { message: status.message }) }
}
