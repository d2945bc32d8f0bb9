import { defined } from '@windlass/kit/defined'
import { completeSpec, RuntimeSpec } from '@windlass/protocol'
import { minDefined } from '../create/min-defined.ts'
import type { BuildRequest } from '../create/request.ts'

const Limits = RuntimeSpec.shape.limits
export type Limits = RuntimeSpec['limits']

const MAX_KNOWN = 100
const known = new Map<string, Limits>()

/** Parses the limits of an attempt. The result is cached, because many attempts share the same limits. */
export function readLimits(attempt: { limits: string }): Limits {
  const limits = known.get(attempt.limits) ?? Limits.parse(JSON.parse(attempt.limits))
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(attempt.limits, limits)
  return limits
}

const specs = new Map<string, RuntimeSpec>()

/** Parses the spec of a runtime and fills in defaults. The result is cached, because every election reads all runtimes. */
export function readSpec(runtime: { spec: string }): RuntimeSpec {
  const spec = specs.get(runtime.spec) ?? completeSpec(JSON.parse(runtime.spec))
  if (specs.size >= MAX_KNOWN) specs.clear()
  specs.set(runtime.spec, spec)
  return spec
}

/** Maximum bytes of log that the server accepts per step and per build. Unlimited if absent. */
export interface ServerLogLimits {
  readonly stepBytes?: number | undefined
  readonly buildBytes?: number | undefined
}

/** Returns the spec for one build: with the requested machine, and the strictest of all limits. */
export function fitSpec(spec: RuntimeSpec, request: BuildRequest | undefined, server: ServerLogLimits): RuntimeSpec {
  const { limits, dockerDaemonScheduler: dind } = spec
  const { cpu, memory, disk } = request?.machine ?? {}
  const requested = defined({ cpu, memory })
  const { requests, limits: most } = dind.defaultDindResources
  const isRequested = Object.keys(requested).length > 0
  const wanted = request?.limits
  return {
    ...spec,
    dockerDaemonScheduler: {
      ...dind,
      ...(isRequested && {
        defaultDindResources: { requests: { ...requests, ...requested }, limits: { ...most, ...requested } },
      }),
      pvcs: { dind: { ...dind.pvcs.dind, ...defined({ volumeSize: disk }) } },
    },
    limits: {
      ...limits,
      stepLogBytes: minDefined(limits.stepLogBytes, wanted?.stepLogBytes, server.stepBytes) ?? limits.stepLogBytes,
      buildLogBytes: minDefined(limits.buildLogBytes, wanted?.buildLogBytes, server.buildBytes) ?? limits.buildLogBytes,
      buildMs: minDefined(limits.buildMs, wanted?.buildMs) ?? limits.buildMs,
      inactiveMs: wanted?.inactiveMs ?? limits.inactiveMs,
    },
  }
}
