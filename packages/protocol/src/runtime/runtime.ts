/** Runtime environments in `/v1`: where and how builds run. Their specification is in `runtime/`. */
import { isRecord } from '@windlass/kit/json'
import { z } from 'zod'
import { Id, Name, Time } from '../base.ts'
import { HealthSummary } from '../health/health.ts'
import { WrittenLayer, type RuntimeLayer } from './spec.ts'
import { spellLayer } from './spelling.ts'

export {
  KubernetesPart,
  PodMount,
  PodVolume,
  Quantity,
  UserVariable,
  WORKFLOW_LIMITS,
  WorkflowLimits,
  type WorkflowLimit,
} from './fields.ts'
export { RuntimeSpec, type RuntimeLayer } from './spec.ts'
export { BASE_LAYERS, BASE_PREFIX, DEFAULT_PARENT } from './base-layers.ts'
export { completeSpec, layersOf, mergeAll, mergeLayers, parentsOf, type ChainProblem } from './merge.ts'
export { leavesOf, originsOf, type NamedLayer } from './origins.ts'
export { spellLayer } from './spelling.ts'

/** Prefixes of user variables in the environment of the engine, so that they cannot override settings of the engine. */
export const USER_VARIABLE_PREFIX = 'WINDLASS_USER_VARIABLE_'
export const USER_SECRET_PREFIX = 'WINDLASS_USER_SECRET_'

/** The own layer of a runtime in any spelling, normalized to one. */
export const RuntimeLayerInput = z.preprocess(spellLayer, WrittenLayer)

/** Body of PUT and POST of `/v1/runtimes`. `spec` replaces the complete own layer of the runtime. */
export const RuntimeInput = z.strictObject({
  name: Name,
  type: z.enum(['kubernetes', 'docker', 'fake']).default('kubernetes'),
  /** Name of the agent that serves it. */
  agent: Name.optional(),
  isDefault: z.boolean().default(false),
  spec: RuntimeLayerInput.prefault({}),
})
export type RuntimeInput = z.infer<typeof RuntimeInput>

/** A stored layer. It is not validated, because a newer server may have added fields. */
const StoredLayer = z.custom<RuntimeLayer>(isRecord)

/** The agent of a runtime as far as users of the runtime see it. */
export const AgentState = z.object({
  /** False after the agent was deleted. */
  exists: z.boolean(),
  lastSeenAt: Time.optional(),
  version: z.string().optional(),
  /** Last status message of the agent. */
  message: z.string().optional(),
})

/** `spec` is the own layer of the runtime as written. With `?merged=true` it includes all layers that it extends. */
export const Runtime = z.object({
  ...RuntimeInput.shape,
  spec: StoredLayer,
  id: Id,
  /** Increases with every change of the specification. Also the ETag. */
  version: z.int().positive(),
  /** Name of the API key or service that created this version. */
  changedBy: z.string(),
  createdAt: Time,
  updatedAt: Time,
  agentOnline: z.boolean(),
  /** What is known about the agent named by `agent`: reading a runtime does not include reading agents. Absent without an agent, and from servers that do not send it yet. */
  agentState: AgentState.optional(),
  running: z.int(),
  waiting: z.int(),
  /** Number of warm pairs that are ready and starting, and why the latest one failed within the last hour. */
  warm: z.object({ ready: z.int(), starting: z.int(), problem: z.string().optional() }).optional(),
  /** In answers of `GET`. Absent from older servers. */
  health: HealthSummary.optional(),
  /**
   * With `?merged=true`: path of a value of `spec` -> name of the layer that sets it, which is the runtime itself or one that it extends. A path is the
   * keys with dots between them.
   */
  origins: z.record(z.string(), z.string()).optional(),
})
export type Runtime = z.infer<typeof Runtime>

/** Query of PUT. `description` is the reason for the change, shown in the history. */
export const RuntimeChange = z.object({ description: z.string().max(1000).optional() })

/** Query of `GET /v1/runtimes/{name}`: an older version, and whether to merge the layers that it extends. */
export const RuntimeQuery = z.object({
  version: z.coerce.number().int().positive().optional(),
  merged: z.stringbool().optional(),
})

/** One entry of `GET /v1/runtimes/{name}/versions`, newest first. */
export const RuntimeVersion = z.object({
  version: z.int().positive(),
  changedBy: z.string(),
  description: z.string().optional(),
  createdAt: Time,
  current: z.boolean(),
  spec: StoredLayer,
})
export type RuntimeVersion = z.infer<typeof RuntimeVersion>

/** Query of `GET /v1/runtimes/{name}/diff`. `to` defaults to the current version. */
export const RuntimeDiffQuery = z.object({
  from: z.coerce.number().int().positive(),
  to: z.coerce.number().int().positive().optional(),
  merged: z.stringbool().optional(),
})

/** Fields that differ. `from` or `to` is absent if the field does not exist in that version. */
export const RuntimeDiff = z.object({
  from: z.int().positive(),
  to: z.int().positive(),
  changes: z.array(z.object({ path: z.string(), from: z.unknown().optional(), to: z.unknown().optional() })),
})
export type RuntimeDiff = z.infer<typeof RuntimeDiff>

/**
 * Query of DELETE. `force` also deletes the default runtime (another one becomes the default), and treats the objects of its lost attempts as
 * deleted.
 */
export const RuntimeRemoval = z.object({ force: z.stringbool().optional() })

/** `GET /v1/runtimes/{name}/images`. */
export const RuntimeImages = z.object({ items: z.array(z.object({ component: z.string(), image: z.string() })) })

/**
 * A layer that runtimes extend, such as `system/default/hybrid/k8s`. Built in, or stored by the operator in place of the built-in one. With
 * `?merged=true`, `spec` includes everything that the layer itself extends.
 */
export const RuntimeBase = z.object({
  name: z.string(),
  /** 0 for a built-in layer. Increases with every change. */
  version: z.int().nonnegative(),
  /** Name of the API key or service that stored it; empty for a built-in layer. */
  changedBy: z.string(),
  spec: StoredLayer,
})
export type RuntimeBase = z.infer<typeof RuntimeBase>

/** Body of PUT. `spec` replaces the complete layer. */
export const RuntimeBaseInput = z.strictObject({ spec: RuntimeLayerInput })

/** Query of `GET /v1/runtime-bases/{name}`. */
export const RuntimeBaseQuery = z.object({ merged: z.stringbool().optional() })
