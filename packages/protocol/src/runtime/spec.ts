/**
 * The specification of a runtime environment, written down once and read in two ways. A *layer* is what somebody wrote: every field may be
 * left out, `null` takes away what a parent says, a key that does not exist is told. A *spec* is whole: layers merged, defaults filled in.
 * Field names are the vendor's (runner specification 4); `variables`, `capacity`, `limits` and `warmPool` are ours.
 */
import { z } from 'zod'
import { KubernetesPart, PodMount, PodVolume, Quantity, UserVariable, WorkflowLimits } from './fields.ts'

/** How a field is read in a layer, or in a whole specification. */
interface Reading {
  readonly object: <S extends z.ZodRawShape>(shape: S) => z.ZodObject<S>
  /** A part with fields of its own. */
  readonly part: <S extends z.ZodObject>(schema: S) => z.ZodPrefault<S>
  readonly or: <S extends z.ZodType>(schema: S, fallback: z.output<S>) => z.ZodDefault<S>
  readonly maybe: <S extends z.ZodType>(schema: S) => z.ZodOptional<S>
  /** A list, which a layer may also write as a map with names of its own. */
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

/** The types of a layer are told by `RuntimeLayer`; the builder of the schema is shared with the whole specification. */
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

/** What the pods of engine and daemon have in common. */
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
    image: is.or(z.string().max(500), 'windlass/windlass:0.1.0'),
    command: is.maybe(z.array(z.string()).max(100)),
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
    dindImage: is.or(z.string().max(500), 'windlass/dind:0.1.0'),
    userAccess: is.or(z.boolean(), true),
    /** Those of the engine count where these say nothing. */
    cluster: is.part(
      is.object({
        ...clusterOf(is),
        namespace: is.maybe(z.string()),
        serviceAccount: is.maybe(z.string()),
        nodeSelector: is.maybe(is.map(z.string())),
      }),
    ),
    defaultDindResources: is.part(resourcesOf(is)),
    /** The daemon asks for all that it may use. */
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
    /** `elected` longer than this ends the attempt with `start-timeout` (MAXIMUM_ELECTED_STATE_AGE_ALLOWED). */
    electedMs: is.or(z.int().positive(), 900_000),
    /** Longest age of a running build (MAXIMUM_ALLOWED_WORKFLOW_AGE_BEFORE_TERMINATION). */
    buildMs: is.or(z.int().positive(), 86_400_000),
    /** Longest time in which nothing happens in a running build; then it ends with `inactive`. Waits for approval do not count. (TIME_INACTIVE_UNTIL_TERMINATION) */
    inactiveMs: is.or(z.int().positive(), 2_700_000),
    /** What counts as something happening: `output` of a step alone, or also steps that begin and end, and containers that `use` the processor or the disk. */
    activity: is.or(z.enum(['output', 'use']), 'use'),
    /** How long an image of a build pod may fail to be pulled. */
    pullMs: is.or(z.int().positive(), 120_000),
    /** Further attempts after a loss of infrastructure (MAXIMUM_RETRY_ATTEMPTS_ALLOWED). */
    retries: is.or(z.int().min(0), 2),
    /** Longest `terminating`, and longest of it without output; the server's own when absent. (MAXIMUM_TERMINATING_STATE_AGE_ALLOWED, …_WITHOUT_UPDATE) */
    terminatingMs: is.maybe(z.int().positive()),
    terminatingSilentMs: is.maybe(z.int().positive()),
    /** From the engine's start to its first step (MAXIMUM_ALLOWED_TIME_BEFORE_PRE_STEPS_SUCCESS). */
    preStepsMs: is.or(z.int().positive(), 600_000),
    /** Longest time after the last step in which the engine puts things away (MAXIMUM_POST_STEPS_GRACE_PERIOD_MINUTES). */
    postStepsMs: is.or(z.int().positive(), 1_800_000),
    /** Silence of the engine after which it is suspected, and given up; the server's own when absent. (TIME_ENGINE_INACTIVE_UNTIL_UNHEALTHY, …_UNTIL_TERMINATION) */
    suspectMs: is.maybe(z.int().positive()),
    deadMs: is.maybe(z.int().positive()),
  })
}

function specOf(is: Reading) {
  return is.object({
    /** Layers below this one, the first lowest. */
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
    /** A base for others to extend: no build runs on it. */
    nonComplete: is.maybe(z.boolean()),
    plan: is.maybe(z.string()),
    /** Variables of every build of this runtime (level `runtime`). */
    variables: is.or(is.map(z.string()), {}),
    /** Most builds at once; unlimited when absent. */
    capacity: is.maybe(z.int().min(0)),
    /** Pairs of engine and daemon that are kept ready. */
    warmPool: is.maybe(
      is.object({
        min: is.or(z.int().min(0).max(1000), 0),
        max: is.or(z.int().min(0).max(1000), 0),
        maxAgeSeconds: is.or(z.int().positive(), 3600),
      }),
    ),
    limits: is.part(limitsOf(is)),
  })
}

export const RuntimeSpec = specOf(whole)
export type RuntimeSpec = z.output<typeof RuntimeSpec>

/** What somebody wrote, or what stands below it. Keyed maps stay maps, so that one entry can be changed. */
export type RuntimeLayer = Readonly<Record<string, unknown>>

/** Keys that the server sets: taken from whoever sends back what it was shown, and dropped. */
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

/** Reads a layer in its own spelling; throws nothing, answers as zod does. What the server assigns is left out of the result. */
export const WrittenLayer = StrictLayer.transform((layer): RuntimeLayer =>
  Object.fromEntries(Object.entries(layer).filter(([key, value]) => !ASSIGNED.includes(key) && value !== undefined)),
)
