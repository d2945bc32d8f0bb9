/** A Rollout of Argo Rollouts (`argoproj.io/v1alpha1`) as its cluster has it. */
import { z } from 'zod'
import { list, text } from '../object-fields.ts'

/** Old revisions that a rollout keeps unless it says otherwise. */
const HISTORY_LIMIT = 10

const count = z
  .int()
  .nonnegative()
  .nullish()
  .transform((value) => value ?? undefined)
const flag = z
  .boolean()
  .nullish()
  .transform((value) => value === true)

const Analysis = z.object({ name: z.string(), status: text, message: text }).nullish()

/** The fields that are read. */
export const RolloutManifest = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    uid: text,
    generation: count,
  }),
  spec: z.object({
    replicas: count,
    paused: flag,
    revisionHistoryLimit: count,
    workloadRef: z.object({ kind: text, name: text }).nullish(),
    strategy: z
      .object({
        canary: z.object({ steps: list(z.looseObject({})), canaryService: text, stableService: text }).nullish(),
        blueGreen: z.object({ activeService: text, previewService: text }).nullish(),
      })
      .nullish(),
  }),
  status: z
    .object({
      phase: text,
      message: text,
      abort: flag,
      controllerPause: flag,
      observedGeneration: text,
      pauseConditions: list(z.object({ reason: text })),
      currentPodHash: text,
      stableRS: text,
      currentStepIndex: count,
      updatedReplicas: count,
      availableReplicas: count,
      canary: z
        .object({
          weights: z.object({ canary: z.object({ weight: count }).nullish() }).nullish(),
          currentStepAnalysisRunStatus: Analysis,
          currentBackgroundAnalysisRunStatus: Analysis,
        })
        .nullish(),
      blueGreen: z.object({ prePromotionAnalysisRunStatus: Analysis, postPromotionAnalysisRunStatus: Analysis }).nullish(),
    })
    .nullish(),
})
export type RolloutManifest = z.output<typeof RolloutManifest>

export function historyLimitOf({ spec }: RolloutManifest): number {
  return spec.revisionHistoryLimit ?? HISTORY_LIMIT
}
