/** Merges the layers of runtime specifications. Pure. */
import { isRecord } from '@windlass/kit/json'
import { RuntimeSpec, type RuntimeLayer } from './spec.ts'

/** Maps whose entries are replaced as a whole, because a volume with two sources is not valid. */
const WHOLE_ENTRIES = ['volumes', 'userVolumes']

/**
 * Merges the child into the parent. Maps are merged by key, other values are replaced, and null removes a key. A list of tolerations replaces the
 * parent's. A map of tolerations (name -> toleration) is merged with a map of the parent, and added to a list of the parent.
 */
export function mergeLayers(parent: RuntimeLayer, child: RuntimeLayer): RuntimeLayer {
  const merged: Record<string, unknown> = { ...parent }
  for (const [key, value] of Object.entries(child)) {
    if (value === undefined) continue
    if (value === null) delete merged[key]
    else merged[key] = mergeField(key, merged[key], value)
  }
  return merged
}

function mergeField(key: string, below: unknown, value: unknown): unknown {
  if (!isRecord(value)) return value
  const under = key === 'tolerations' && Array.isArray(below) ? Object.fromEntries(below.entries()) : below
  const base = isRecord(under) ? under : {}
  if (!WHOLE_ENTRIES.includes(key)) return mergeLayers(base, value)
  const entries = Object.entries({ ...base, ...value }).filter(([, entry]) => entry !== null)
  return Object.fromEntries(entries)
}

/** An unknown name or a cycle in `extends`. */
export interface ChainProblem {
  readonly problem: 'unknown' | 'cycle'
  /** From the runtime to the wrong name. */
  readonly chain: readonly string[]
}

/** Returns the layers that `own` extends and `own` itself with their names, lowest first, each once. `find` returns the layer of a name. */
export function layersOf(
  own: { readonly name: string; readonly layer: RuntimeLayer },
  find: (name: string) => RuntimeLayer | undefined,
): { readonly layers: readonly RuntimeLayer[]; readonly names: readonly string[] } | ChainProblem {
  const done = new Map<string, RuntimeLayer>()
  const visit = (name: string, layer: RuntimeLayer, chain: readonly string[]): ChainProblem | undefined => {
    for (const parent of parentsOf(layer)) {
      const path = [...chain, parent]
      if (chain.includes(parent)) return { problem: 'cycle', chain: path }
      if (done.has(parent)) continue
      const found = find(parent)
      if (found === undefined) return { problem: 'unknown', chain: path }
      const problem = visit(parent, found, path)
      if (problem !== undefined) return problem
    }
    done.set(name, layer)
    return undefined
  }
  return visit(own.name, own.layer, [own.name]) ?? { layers: [...done.values()], names: [...done.keys()] }
}

/** Returns the names that a layer extends. */
export function parentsOf(layer: RuntimeLayer): readonly string[] {
  const { extends: parents } = layer
  return Array.isArray(parents) ? parents.filter((name) => typeof name === 'string') : []
}

/** Merges layers, lowest first. `extends`, `description` and `nonComplete` come only from the last one. */
export function mergeAll(layers: readonly RuntimeLayer[]): RuntimeLayer {
  return layers.reduce((below, layer) => {
    const { nonComplete: _, description: __, extends: ___, ...rest } = below
    return mergeLayers(rest, layer)
  }, {})
}

/** Returns the complete specification: tolerations as a list, `limits` from `workflowLimits`, and defaults. */
export function completeSpec(merged: RuntimeLayer): RuntimeSpec {
  const engine = isRecord(merged['runtimeScheduler']) ? merged['runtimeScheduler'] : {}
  const dind = isRecord(merged['dockerDaemonScheduler']) ? merged['dockerDaemonScheduler'] : {}
  const limits = isRecord(merged['limits']) ? merged['limits'] : {}
  return RuntimeSpec.parse({
    ...merged,
    runtimeScheduler: withTolerations(engine),
    dockerDaemonScheduler: withTolerations(dind),
    limits: { ...limitsOf(engine['workflowLimits']), ...limits },
  })
}

function withTolerations(pod: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return isRecord(pod['tolerations']) ? { ...pod, tolerations: Object.values(pod['tolerations']) } : pod
}

const SECONDS = {
  MAXIMUM_ELECTED_STATE_AGE_ALLOWED: 'electedMs',
  MAXIMUM_ALLOWED_WORKFLOW_AGE_BEFORE_TERMINATION: 'buildMs',
  MAXIMUM_TERMINATING_STATE_AGE_ALLOWED: 'terminatingMs',
  MAXIMUM_TERMINATING_STATE_AGE_ALLOWED_WITHOUT_UPDATE: 'terminatingSilentMs',
  TIME_INACTIVE_UNTIL_TERMINATION: 'inactiveMs',
  MAXIMUM_ALLOWED_TIME_BEFORE_PRE_STEPS_SUCCESS: 'preStepsMs',
  TIME_ENGINE_INACTIVE_UNTIL_UNHEALTHY: 'suspectMs',
  TIME_ENGINE_INACTIVE_UNTIL_TERMINATION: 'deadMs',
} as const

/** Converts the limits of Codefresh to ours. */
function limitsOf(workflowLimits: unknown): Record<string, number> {
  if (!isRecord(workflowLimits)) return {}
  const limits: Record<string, number> = {}
  for (const [key, name] of Object.entries(SECONDS)) {
    const seconds = workflowLimits[key]
    if (typeof seconds === 'number' && seconds > 0) limits[name] = Math.round(seconds * 1000)
  }
  const { MAXIMUM_RETRY_ATTEMPTS_ALLOWED: retries, MAXIMUM_POST_STEPS_GRACE_PERIOD_MINUTES: minutes } = workflowLimits
  if (typeof minutes === 'number' && minutes > 0) limits['postStepsMs'] = Math.round(minutes * 60_000)
  if (typeof retries === 'number') limits['retries'] = Math.floor(retries)
  return limits
}
