/** The runtime environment: how and where builds run. Field names follow the vendor's specification (runner specification 4), of which this is the part in use. */
import { z } from 'zod'
import { Name } from './base.ts'

const StringMap = z.record(z.string(), z.string())
const Quantity = z
  .string()
  .regex(/^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$/, 'must be a Kubernetes quantity such as 500m or 2Gi')
const Resources = z.object({
  requests: z.record(z.string(), Quantity).optional(),
  limits: z.record(z.string(), Quantity).optional(),
})

const PodSettings = {
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  envVars: StringMap.default({}),
  tolerations: z.array(z.record(z.string(), z.unknown())).default([]),
  affinity: z.record(z.string(), z.unknown()).optional(),
  annotations: StringMap.default({}),
  labels: StringMap.default({}),
  schedulerName: z.string().optional(),
}

const KeyReference = z.strictObject({ name: z.string().min(1), key: z.string().min(1), optional: z.boolean().optional() })

/** A variable of every step: a value, or a key of a Secret or ConfigMap of the cluster that builds run in, which the server never sees. */
const UserVariable = z
  .strictObject({
    name: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable'),
    value: z.string().optional(),
    valueFrom: z
      .strictObject({ secretKeyRef: KeyReference.optional(), configMapKeyRef: KeyReference.optional() })
      .refine((from) => (from.secretKeyRef === undefined) !== (from.configMapKeyRef === undefined), {
        message: 'must have secretKeyRef or configMapKeyRef',
      })
      .optional(),
  })
  .refine(({ value, valueFrom }) => (value === undefined) !== (valueFrom === undefined), {
    message: 'must have value or valueFrom',
  })

/** `z.object` for what we read back, `z.strictObject` for what people write: a key that has no effect is told, not dropped. */
type ObjectOf = <S extends z.ZodRawShape>(shape: S) => z.ZodObject<S>

function specOf(object: ObjectOf) {
  const Cluster = object({
    namespace: z.string().default('windlass'),
    serviceAccount: z.string().default('windlass-engine'),
    nodeSelector: StringMap.default({}),
  })
  return object({
    runtimeScheduler: object({
      type: z.literal('KubernetesPod').default('KubernetesPod'),
      image: z.string().default('windlass/windlass:0.1.0'),
      cluster: Cluster.prefault({}),
      resources: Resources.default({ requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1000m', memory: '2048Mi' } }),
      terminationGracePeriodSeconds: z.int().min(0).default(180),
      userEnvVars: z.array(UserVariable).max(500).default([]),
      ...PodSettings,
    }).prefault({}),
    dockerDaemonScheduler: object({
      type: z.literal('DindKubernetesPod').default('DindKubernetesPod'),
      dindImage: z.string().default('windlass/dind:0.1.0'),
      userAccess: z.boolean().default(true),
      defaultDindResources: Resources.default({ requests: { cpu: '400m', memory: '800Mi' } }),
      terminationGracePeriodSeconds: z.int().min(0).default(30),
      pvcs: object({
        dind: object({
          name: z.literal('dind').default('dind'),
          storageClassName: z.string().default('dind-local-volumes-runner-windlass'),
          volumeSize: Quantity.default('16Gi'),
          reuseVolumeSelector: z.string().default('codefresh-app,io.codefresh.accountName'),
          reuseVolumeSortOrder: z.string().default('pipeline_id'),
          annotations: StringMap.default({}),
        }).prefault({}),
      }).prefault({}),
      ...PodSettings,
    }).prefault({}),
    /** Variables of every build of this runtime (level `runtime`). */
    variables: StringMap.default({}),
    /** Most builds at once; unlimited when absent. */
    capacity: z.int().min(0).optional(),
    limits: object({
      stepLogBytes: z.int().positive().default(1_073_741_824),
      buildLogBytes: z.int().positive().default(1_073_741_824),
      stopGraceMs: z.int().min(0).default(10_000),
      /** `elected` longer than this ends the attempt with `start-timeout` (MAXIMUM_ELECTED_STATE_AGE_ALLOWED). */
      electedMs: z.int().positive().default(900_000),
      /** Longest age of a running build (MAXIMUM_ALLOWED_WORKFLOW_AGE_BEFORE_TERMINATION). */
      buildMs: z.int().positive().default(86_400_000),
      /** Longest time in which nothing happens in a running build; then it ends with `inactive`. Waits for approval do not count. */
      inactiveMs: z.int().positive().default(2_700_000),
      /** What counts as something happening: `output` of a step alone, or also steps that begin and end, and containers that `use` the processor or the disk. */
      activity: z.enum(['output', 'use']).default('use'),
      /** How long an image of a build pod may fail to be pulled. */
      pullMs: z.int().positive().default(120_000),
      /** Further attempts after a loss of infrastructure (MAXIMUM_RETRY_ATTEMPTS_ALLOWED). */
      retries: z.int().min(0).default(2),
      /** From the engine's start to its first step (MAXIMUM_ALLOWED_TIME_BEFORE_PRE_STEPS_SUCCESS). */
      preStepsMs: z.int().positive().default(600_000),
      /** Longest time after the last step in which the engine puts things away (MAXIMUM_POST_STEPS_GRACE_PERIOD_MINUTES). */
      postStepsMs: z.int().positive().default(1_800_000),
      /** Longest `terminating`, and longest without output (MAXIMUM_TERMINATING_STATE_AGE_ALLOWED, ..._WITHOUT_UPDATE); the server's own where absent. */
      terminatingMs: z.int().positive().optional(),
      terminatingSilentMs: z.int().positive().optional(),
      /** Silence of the engine after which it is suspected, and given up (TIME_ENGINE_INACTIVE_UNTIL_UNHEALTHY, ..._TERMINATION); the server's own where absent. */
      suspectMs: z.int().positive().optional(),
      deadMs: z.int().positive().optional(),
    }).prefault({}),
  })
}

/** Variables of the cluster reach the engine under names with these in front, so that they cannot change what the engine itself does. */
export const USER_VARIABLE_PREFIX = 'WINDLASS_USER_VARIABLE_'
export const USER_SECRET_PREFIX = 'WINDLASS_USER_SECRET_'

export const RuntimeSpec = specOf((shape) => z.object(shape))
// A strict object differs from a plain one in what it refuses, not in what it yields.
const WrittenSpec = specOf(z.strictObject as unknown as ObjectOf)
export type RuntimeSpec = z.infer<typeof RuntimeSpec>

export const RuntimeInput = z.strictObject({
  name: Name,
  type: z.enum(['kubernetes', 'docker', 'fake']).default('kubernetes'),
  /** Name of the agent that serves it. */
  agent: Name.optional(),
  isDefault: z.boolean().default(false),
  spec: WrittenSpec.prefault({}),
})
export type RuntimeInput = z.infer<typeof RuntimeInput>
