/**
 * The fields of a Rollout (https://argo-rollouts.readthedocs.io/en/stable/features/specification/), of a ReplicaSet of one, and of a Workflow of Argo Workflows that the server uses. Everything else is
 * dropped, such as the environment of pods, which may have secrets.
 */
import { REPORTED_KINDS, type ReportedKind } from '@windlass/protocol'
import { z } from 'zod'
import { list, MAX_LINE, MAX_NAME, ObjectMetadata, text, time } from '../manifest-fields.ts'

/** Steps of a canary, and images of a ReplicaSet that are read. */
const MAX_STEPS = 200
const MAX_IMAGES = 20

const count = z
  .int()
  .nonnegative()
  .nullish()
  .transform((value) => value ?? undefined)
const flag = z
  .boolean()
  .nullish()
  .transform((value) => value === true)

export const RolloutManifest = z.object({
  metadata: ObjectMetadata.extend({ generation: count }),
  spec: z.object({
    replicas: count,
    strategy: z
      .object({
        canary: z.object({ steps: list(z.looseObject({}), MAX_STEPS) }).nullish(),
        blueGreen: z.looseObject({}).nullish(),
      })
      .nullish(),
  }),
  status: z
    .object({
      phase: text(50),
      message: text(MAX_LINE),
      abort: flag,
      controllerPause: flag,
      observedGeneration: text(50),
      pauseConditions: list(z.looseObject({})),
      currentPodHash: text(100),
      stableRS: text(100),
      currentStepIndex: count,
      updatedReplicas: count,
      availableReplicas: count,
      canary: z.object({ weights: z.object({ canary: z.object({ weight: count }).nullish() }).nullish() }).nullish(),
    })
    .nullish(),
})
export type RolloutManifest = z.output<typeof RolloutManifest>

export const ReplicaSetManifest = z.object({
  metadata: ObjectMetadata.extend({ ownerReferences: list(z.object({ kind: text(MAX_NAME), name: text(MAX_NAME) })) }),
  spec: z.object({
    replicas: count,
    template: z
      .object({ spec: z.object({ containers: list(z.object({ image: text(MAX_LINE) }), MAX_IMAGES) }).nullish() })
      .nullish(),
  }),
  status: z.object({ availableReplicas: count }).nullish(),
})
export type ReplicaSetManifest = z.output<typeof ReplicaSetManifest>

export const WorkflowManifest = z.object({
  metadata: ObjectMetadata,
  spec: z.object({ workflowTemplateRef: z.object({ name: text(MAX_NAME) }).nullish() }).nullish(),
  status: z
    .object({
      phase: text(50),
      message: text(MAX_LINE),
      progress: text(50),
      startedAt: time,
      finishedAt: time,
      nodes: z.record(z.string(), z.unknown()).nullish(),
    })
    .nullish(),
})
export type WorkflowManifest = z.output<typeof WorkflowManifest>

/** Returns the kind of an object, of any version; undefined if such objects are not stored. */
export function reportedKindOf({
  apiVersion,
  kind,
}: {
  readonly apiVersion: string
  readonly kind: string
}): ReportedKind | undefined {
  const group = kind === 'ReplicaSet' ? 'apps/' : 'argoproj.io/'
  return apiVersion.startsWith(group) ? REPORTED_KINDS.find((known) => known === kind) : undefined
}
