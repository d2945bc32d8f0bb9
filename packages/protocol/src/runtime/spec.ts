/**
 * The specification of a runtime environment, defined once and read in two ways. A *layer* is what a user wrote: every field is optional, `null`
 * removes a value of a parent, and unknown keys are rejected. A *spec* is complete: layers are merged and defaults filled in.
 * Field names are those of Codefresh; `variables`, `capacity`, `limits`, `starts` and `warmPool` are ours.
 */
import { windlassImage } from '@windlass/plan'
import { z } from 'zod'
import { HttpUrl } from '../base.ts'
import { KubernetesPart, PodMount, PodVolume, Quantity, UserVariable, WorkflowLimits } from './fields.ts'

/** How fields are read in a layer or in a complete specification. */
interface Reading {
  readonly object: <S extends z.ZodRawShape>(shape: S) => z.ZodObject<S>
  /** A nested object. */
  readonly part: <S extends z.ZodObject>(schema: S) => z.ZodPrefault<S>
  readonly or: <S extends z.ZodType>(schema: S, fallback: z.output<S>) => z.ZodDefault<S>
  readonly maybe: <S extends z.ZodType>(schema: S) => z.ZodOptional<S>
  /** A list, which a layer may also write as a map with arbitrary keys. */
  readonly list: <S extends z.ZodType>(schema: S) => z.ZodArray<S>
  readonly map: <S extends z.ZodType>(schema: S) => z.ZodRecord<z.ZodString, S>
}

const whole: Reading = {
  object: (shape) => z.object(shape),
  part: (schema) => schema.prefault({} as never),
  or: (schema, fallback) => schema.default(fallback as never),
  maybe: (schema) => schema.optional(),
  list: (schema) => z.array(schema).max(100),
  map: (schema) => z.record(z.string(), schema),
}

/** The type of a layer is `RuntimeLayer`. The cast lets it share the schema builder with the complete specification. */
const layered = {
  object: (shape: z.ZodRawShape) => z.strictObject(shape),
  part: (schema: z.ZodType) => schema.nullish(),
  or: (schema: z.ZodType) => schema.nullish(),
  maybe: (schema: z.ZodType) => schema.nullish(),
  list: (schema: z.ZodType) => z.union([z.array(schema).max(100), z.record(z.string().max(300), schema.nullable())]),
  map: (schema: z.ZodType) => z.record(z.string().max(300), schema.nullable()),
} as unknown as Reading

const Pull = z.enum(['Always', 'IfNotPresent', 'Never'])

function clusterOf(is: Reading) {
  return {
    clusterProvider: is.maybe(is.object({ accountId: is.maybe(z.string()), selector: is.maybe(z.string()) })),
    inCluster: is.maybe(z.boolean()),
    kubeconfigFilePath: is.maybe(z.string()),
    name: is.maybe(z.string()),
  }
}

/** Fields that the pods of engine and daemon share. */
function podOf(is: Reading) {
  return {
    imagePullPolicy: is.or(Pull, 'IfNotPresent'),
    imagePullSecrets: is.or(z.array(z.string().min(1).max(253)).max(20), []),
    envVars: is.or(is.map(z.string()), {}),
    tolerations: is.or(is.list(KubernetesPart), []),
    affinity: is.maybe(KubernetesPart),
    annotations: is.or(is.map(z.string()), {}),
    labels: is.or(is.map(z.string()), {}),
    schedulerName: is.maybe(z.string()),
    dnsPolicy: is.maybe(z.enum(['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'])),
    dnsConfig: is.maybe(KubernetesPart),
    priorityClassName: is.maybe(z.string()),
    podSecurityContext: is.maybe(KubernetesPart),
    containerSecurityContext: is.maybe(KubernetesPart),
    initContainers: is.or(z.array(KubernetesPart).max(20), []),
    volumes: is.or(is.map(PodVolume), {}),
    volumeMounts: is.or(is.map(PodMount), {}),
    internalInfra: is.maybe(z.boolean()),
  }
}

function resourcesOf(is: Reading) {
  const amounts = is.map(Quantity)
  return is.object({ requests: is.maybe(amounts), limits: is.maybe(amounts) })
}

function engineOf(is: Reading) {
  return is.object({
    type: is.or(z.literal('KubernetesPod'), 'KubernetesPod'),
    image: is.or(z.string().max(500), windlassImage('windlass')),
    command: is.maybe(z.array(z.string()).max(100)),
    /** Base URL at which engines reach the server. Default: the URL of the agent. */
    serverUrl: is.maybe(HttpUrl),
    cluster: is.part(
      is.object({
        ...clusterOf(is),
        namespace: is.or(z.string(), 'windlass'),
        serviceAccount: is.or(z.string(), 'windlass-engine'),
        nodeSelector: is.or(is.map(z.string()), {}),
      }),
    ),
    resources: is.part(resourcesOf(is)),
    terminationGracePeriodSeconds: is.or(z.int().min(0), 180),
    userEnvVars: is.or(z.array(UserVariable).max(500), []),
    workflowLimits: is.maybe(WorkflowLimits),
    ...podOf(is),
  })
}

function dindOf(is: Reading) {
  return is.object({
    type: is.or(z.literal('DindKubernetesPod'), 'DindKubernetesPod'),
    dindImage: is.or(z.string().max(500), windlassImage('dind')),
    userAccess: is.or(z.boolean(), true),
    /** Default: the values of the engine. */
    cluster: is.part(
      is.object({
        ...clusterOf(is),
        namespace: is.maybe(z.string()),
        serviceAccount: is.maybe(z.string()),
        nodeSelector: is.maybe(is.map(z.string())),
      }),
    ),
    defaultDindResources: is.part(resourcesOf(is)),
    /** Sets the requests of the daemon to its limits. */
    requestsEqualLimits: is.or(z.boolean(), false),
    terminationGracePeriodSeconds: is.or(z.int().min(0), 30),
    userVolumes: is.or(is.map(PodVolume), {}),
    userVolumeMounts: is.or(is.map(PodMount), {}),
    pvcs: is.part(
      is.object({
        dind: is.part(
          is.object({
            name: is.or(z.literal('dind'), 'dind'),
            storageClassName: is.or(z.string(), 'dind-local-volumes-runner-windlass'),
            volumeSize: is.or(Quantity, '16Gi'),
            reuseVolumeSelector: is.or(z.string().max(1000), 'codefresh-app,io.codefresh.accountName'),
            reuseVolumeSortOrder: is.or(z.string().max(1000), 'pipeline_id'),
            annotations: is.or(is.map(z.string()), {}),
          }),
        ),
      }),
    ),
    clientCertPath: is.maybe(z.string()),
    notCheckServerCa: is.maybe(z.boolean()),
    dockerDaemonParams: is.maybe(z.unknown()),
    ...podOf(is),
  })
}

function limitsOf(is: Reading) {
  return is.object({
    stepLogBytes: is.or(z.int().positive(), 1_073_741_824),
    buildLogBytes: is.or(z.int().positive(), 1_073_741_824),
    stopGraceMs: is.or(z.int().min(0), 10_000),
    /** Longest time in `elected`; then the attempt ends with `start-timeout` (MAXIMUM_ELECTED_STATE_AGE_ALLOWED). */
    electedMs: is.or(z.int().positive(), 900_000),
    /** Maximum duration of a running build (MAXIMUM_ALLOWED_WORKFLOW_AGE_BEFORE_TERMINATION). */
    buildMs: is.or(z.int().positive(), 86_400_000),
    /** Inactivity timeout; then the build ends with `inactive`. Waiting for approval does not count. (TIME_INACTIVE_UNTIL_TERMINATION) */
    inactiveMs: is.or(z.int().positive(), 2_700_000),
    /** What counts as activity. `output`: only output of steps. `use`: also steps that start and end, and containers that use CPU or disk. */
    activity: is.or(z.enum(['output', 'use']), 'use'),
    /** Longest time of failing pulls of an image of a build pod. */
    pullMs: is.or(z.int().positive(), 120_000),
    /** Maximum number of retries after a loss of infrastructure (MAXIMUM_RETRY_ATTEMPTS_ALLOWED). */
    retries: is.or(z.int().min(0), 2),
    /**
     * Longest time in `terminating`, in total and without output. Default: the server setting. (MAXIMUM_TERMINATING_STATE_AGE_ALLOWED,
     * …_WITHOUT_UPDATE)
     */
    terminatingMs: is.maybe(z.int().positive()),
    terminatingSilentMs: is.maybe(z.int().positive()),
    /** Longest time from the start of the engine to its first step (MAXIMUM_ALLOWED_TIME_BEFORE_PRE_STEPS_SUCCESS). */
    preStepsMs: is.or(z.int().positive(), 600_000),
    /** Longest time for the cleanup of the engine after the last step (MAXIMUM_POST_STEPS_GRACE_PERIOD_MINUTES). */
    postStepsMs: is.or(z.int().positive(), 1_800_000),
    /**
     * Time without a heartbeat after which the engine is suspect, and after which it is lost. Default: the server setting.
     * (TIME_ENGINE_INACTIVE_UNTIL_UNHEALTHY, …_UNTIL_TERMINATION)
     */
    suspectMs: is.maybe(z.int().positive()),
    deadMs: is.maybe(z.int().positive()),
  })
}

function specOf(is: Reading) {
  return is.object({
    /** Layers that this one extends, lowest first. */
    extends: is.maybe(z.array(z.string().min(1).max(200)).max(20)),
    description: is.maybe(z.string().max(10_000)),
    tags: is.or(z.array(z.string().min(1).max(100)).max(100), []),
    runtimeScheduler: is.part(engineOf(is)),
    dockerDaemonScheduler: is.part(dindOf(is)),
    appProxy: is.maybe(is.object({ externalIP: is.maybe(z.string().max(2000)) })),
    accountId: is.maybe(z.string()),
    accounts: is.maybe(z.array(z.string())),
    systemHybrid: is.maybe(z.boolean()),
    environmentCertPath: is.maybe(z.string()),
    isPublic: is.maybe(z.boolean()),
    /** True for a layer that others extend and on which no build runs. */
    nonComplete: is.maybe(z.boolean()),
    plan: is.maybe(z.string()),
    /** Variables of every build of this runtime (level `runtime`). */
    variables: is.or(is.map(z.string()), {}),
    /** Maximum number of concurrent builds. Default: unlimited. */
    capacity: is.maybe(z.int().min(0)),
    /** Number of engine and daemon pairs that are kept ready. */
    warmPool: is.maybe(
      is.object({
        min: is.or(z.int().min(0).max(1000), 0),
        max: is.or(z.int().min(0).max(1000), 0),
        maxAgeSeconds: is.or(z.int().positive(), 3600),
      }),
    ),
    /** Maximum number of builds and warm pairs that start at once: per core of the nodes, and in total. Default: the settings of the agent. */
    starts: is.maybe(
      is.object({
        perCore: is.maybe(z.number().positive().max(1000)),
        max: is.maybe(z.int().positive().max(10_000)),
      }),
    ),
    limits: is.part(limitsOf(is)),
  })
}

export const RuntimeSpec = specOf(whole)
export type RuntimeSpec = z.output<typeof RuntimeSpec>

/** A layer as written, or merged layers. Maps stay maps, so that a child can override one entry. */
export type RuntimeLayer = Readonly<Record<string, unknown>>

/** Keys that the server sets. They are accepted and dropped, so that clients can send back a response. */
const Assigned = z.strictObject({
  version: z.union([z.string(), z.number(), z.null()]).optional(),
  metadata: z
    .strictObject({
      name: z.string().optional(),
      agent: z.boolean().nullish(),
      changedBy: z.string().nullish(),
      creationTime: z.union([z.string(), z.number()]).nullish(),
      trial: z.unknown(),
    })
    .partial()
    .nullish(),
  history: z.unknown(),
  isDefault: z.boolean().nullish(),
  default: z.boolean().nullish(),
})
const ASSIGNED = Object.keys(Assigned.shape)

const StrictLayer = z.strictObject({ ...specOf(layered).shape, ...Assigned.partial().shape })

/** Schema of a layer in the normalized spelling. Drops the keys that the server sets. */
export const WrittenLayer = StrictLayer.transform((layer): RuntimeLayer =>
  Object.fromEntries(Object.entries(layer).filter(([key, value]) => !ASSIGNED.includes(key) && value !== undefined)),
)
