/** A rollout in the spelling of this API: its manifest, the ReplicaSets that it owns, and what Argo CD offers to do with it. */
import { defined } from '@windlass/kit'
import {
  isCompleteRollout,
  ROLLOUT_ACTIONS,
  rolloutPhaseOf,
  rolloutStepOf,
  rolloutWeightOf,
  type ResourceNode,
  type Rollout,
  type RolloutAnalysis,
  type RolloutRevision,
} from '@windlass/protocol'
import type { RolloutManifest } from './rollout-manifest.ts'
import { stepsOf } from './rollout-steps.ts'

export interface RolloutFacts {
  readonly manifest: RolloutManifest
  /** All objects of the application. */
  readonly nodes: readonly ResourceNode[]
  /** Actions of Argo CD, and whether the state allows them. */
  readonly actions: ReadonlyMap<string, boolean>
}

/** Returns what is shown of a rollout. */
export function toRollout({ manifest, nodes, actions }: RolloutFacts): Rollout {
  const { metadata, spec, status } = manifest
  const steps = stepsOf(manifest)
  const revisions = revisionsOf(manifest, nodes)
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    ...strategyOf(manifest),
    ...rolloutPhaseOf(manifest),
    isComplete: isCompleteRollout(manifest),
    isPaused: spec.paused || (status?.pauseConditions ?? []).length > 0,
    isAborted: status?.abort === true,
    steps,
    replicas: {
      wanted: spec.replicas ?? 1,
      updated: status?.updatedReplicas ?? 0,
      available: status?.availableReplicas ?? 0,
    },
    analyses: analysesOf(status),
    revisions,
    actions: ROLLOUT_ACTIONS.filter((name) => actions.get(name) === true),
    ...defined({
      uid: metadata.uid,
      currentStep: steps.length === 0 ? undefined : rolloutStepOf(manifest),
      weight: rolloutWeightOf(manifest),
      revision: revisions.find((one) => one.isCurrent)?.revision,
    }),
  }
}

function strategyOf({ spec }: RolloutManifest): Pick<Rollout, 'strategy' | 'services'> {
  const { canary, blueGreen } = spec.strategy ?? {}
  const named = (...services: readonly (string | undefined)[]): string[] => services.filter((name) => name !== undefined)
  if (canary !== undefined && canary !== null)
    return { strategy: 'canary', services: named(canary.canaryService, canary.stableService) }
  if (blueGreen !== undefined && blueGreen !== null)
    return { strategy: 'blue-green', services: named(blueGreen.activeService, blueGreen.previewService) }
  return { strategy: 'unknown', services: [] }
}

function analysesOf(status: RolloutManifest['status']): RolloutAnalysis[] {
  const { canary, blueGreen } = status ?? {}
  const runs = [
    ['step', canary?.currentStepAnalysisRunStatus],
    ['background', canary?.currentBackgroundAnalysisRunStatus],
    ['pre-promotion', blueGreen?.prePromotionAnalysisRunStatus],
    ['post-promotion', blueGreen?.postPromotionAnalysisRunStatus],
  ] as const
  return runs.flatMap(([of, run]) =>
    run === undefined || run === null
      ? []
      : [{ of, name: run.name, status: run.status ?? 'Pending', ...defined({ message: run.message }) }],
  )
}

/** Returns the revisions of a rollout, newest first: those of the ReplicaSets that it owns. */
export function revisionsOf({ metadata, status }: RolloutManifest, nodes: readonly ResourceNode[]): RolloutRevision[] {
  const nameOf = (hash: string | undefined): string | undefined => (hash === undefined ? undefined : `${metadata.name}-${hash}`)
  const [current, stable] = [nameOf(status?.currentPodHash), nameOf(status?.stableRS)]
  return replicaSetsOf(metadata.uid, nodes)
    .flatMap((node) => {
      const revision = revisionOf(node)
      const { name, createdAt } = node
      if (revision === undefined) return []
      return [{ revision, name, isCurrent: name === current, isStable: name === stable, ...defined({ createdAt }) }]
    })
    .toSorted((a, b) => b.revision - a.revision)
}

function replicaSetsOf(uid: string | undefined, nodes: readonly ResourceNode[]): ResourceNode[] {
  return nodes.filter(
    ({ kind, group, parents }) => kind === 'ReplicaSet' && group === 'apps' && parents.some((one) => one === uid),
  )
}

/** Argo CD shows it as `Rev:2`. */
function revisionOf({ info }: ResourceNode): number | undefined {
  const found = /^Rev:(\d{1,9})$/.exec(info.find(({ name }) => name === 'Revision')?.value ?? '')?.[1]
  return found === undefined ? undefined : Number(found)
}
