/** Fields that only operators set. Callers who are not admins do not see them. */
import { leavesOf, type Runtime, type RuntimeLayer } from '@windlass/protocol'

const OF_RUNTIME = ['accounts', 'systemHybrid', 'environmentCertPath', 'isPublic', 'plan', 'nonComplete']
const OF_SCHEDULER = ['internalInfra', 'clientCertPath', 'notCheckServerCa', 'dockerDaemonParams']

/** Removes the fields that only operators set from a spec, for callers who are not admins (R256). */
export function hideOperatorFields(spec: RuntimeLayer): RuntimeLayer {
  const without = (fields: unknown, names: readonly string[]): RuntimeLayer =>
    Object.fromEntries(Object.entries(fields ?? {}).filter(([name]) => !names.includes(name)))
  return {
    ...without(spec, OF_RUNTIME),
    ...(spec['runtimeScheduler'] !== undefined && { runtimeScheduler: without(spec['runtimeScheduler'], OF_SCHEDULER) }),
    ...(spec['dockerDaemonScheduler'] !== undefined && {
      dockerDaemonScheduler: without(spec['dockerDaemonScheduler'], OF_SCHEDULER),
    }),
  }
}

/** Removes them from a runtime with its merged spec. */
export function hideMergedFields(runtime: Runtime): Runtime {
  const spec = hideOperatorFields(runtime.spec)
  const shown = leavesOf(spec)
  const origins = Object.entries(runtime.origins ?? {}).filter(([path]) => shown.has(path))
  return { ...runtime, spec, origins: Object.fromEntries(origins) }
}
