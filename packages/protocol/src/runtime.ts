/** Runtime environments as clients see them: where and how builds run. Their specification stands in `runtime/`. */
import { z } from 'zod'
import { Id, Name, Time } from './base.ts'
import { WrittenLayer, type RuntimeLayer } from './runtime/spec.ts'
import { isMapping, spellLayer } from './runtime/spelling.ts'

export { WORKFLOW_LIMITS, type PodMount, type PodVolume, type UserVariable, type WorkflowLimit } from './runtime/fields.ts'
export { RuntimeSpec, type RuntimeLayer } from './runtime/spec.ts'
export { BASE_LAYERS, BASE_PREFIX, DEFAULT_PARENT } from './runtime/base-layers.ts'
export { completeSpec, layersOf, mergeAll, mergeLayers, parentsOf, type ChainProblem } from './runtime/merge.ts'
export { spellLayer } from './runtime/spelling.ts'

/** Variables of the cluster reach the engine under names with these in front, so that they cannot change what the engine itself does. */
export const USER_VARIABLE_PREFIX = 'WINDLASS_USER_VARIABLE_'
export const USER_SECRET_PREFIX = 'WINDLASS_USER_SECRET_'

/** The own layer of a runtime, in any of its spellings; answered in one. */
export const RuntimeLayerInput = z.preprocess(spellLayer, WrittenLayer)

/** What PUT and POST of `/v1/runtimes` take. `spec` replaces the runtime's own layer whole. */
export const RuntimeInput = z.strictObject({
  name: Name,
  type: z.enum(['kubernetes', 'docker', 'fake']).default('kubernetes'),
  /** Name of the agent that serves it. */
  agent: Name.optional(),
  isDefault: z.boolean().default(false),
  spec: RuntimeLayerInput.prefault({}),
})
export type RuntimeInput = z.infer<typeof RuntimeInput>

/** A layer as it was stored, read past what a newer server may have added. */
const StoredLayer = z.custom<RuntimeLayer>(isMapping)

/** `spec` is the runtime's own layer, as written; with `?merged=true` everything that it extends is in it. */
export const Runtime = z.object({
  ...RuntimeInput.shape,
  spec: StoredLayer,
  id: Id,
  /** Grows with every change of the specification; the ETag. */
  version: z.int().positive(),
  /** Name of the key or service that made this version. */
  changedBy: z.string(),
  createdAt: Time,
  updatedAt: Time,
  agentOnline: z.boolean(),
  running: z.int(),
  waiting: z.int(),
  /** Pairs that are kept ready, and those that are being made. */
  warm: z.object({ ready: z.int(), starting: z.int() }).optional(),
})
export type Runtime = z.infer<typeof Runtime>

/** Query of PUT: why it was changed, shown in the history. */
export const RuntimeChange = z.object({ description: z.string().max(1000).optional() })

/** Query of `GET /v1/runtimes/{name}`: an older version, and whether what it extends is merged into it. */
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

/** Query of `GET /v1/runtimes/{name}/diff`; `to` is the current version when absent. */
export const RuntimeDiffQuery = z.object({
  from: z.coerce.number().int().positive(),
  to: z.coerce.number().int().positive().optional(),
  merged: z.stringbool().optional(),
})

/** Leaves that differ; `from` or `to` is absent where one side has none. */
export const RuntimeDiff = z.object({
  from: z.int().positive(),
  to: z.int().positive(),
  changes: z.array(z.object({ path: z.string(), from: z.unknown().optional(), to: z.unknown().optional() })),
})
export type RuntimeDiff = z.infer<typeof RuntimeDiff>

/** Query of DELETE: `force` also deletes the default one; another becomes the default. */
export const RuntimeRemoval = z.object({ force: z.stringbool().optional() })

/** `GET /v1/runtimes/{name}/images`. */
export const RuntimeImages = z.object({ items: z.array(z.object({ component: z.string(), image: z.string() })) })
