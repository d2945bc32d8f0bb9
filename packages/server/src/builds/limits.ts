import { completeSpec, RuntimeSpec } from '@windlass/protocol'
import { smallest } from './smallest.ts'
import type { BuildRequest } from './request.ts'

const Limits = RuntimeSpec.shape.limits
export type Limits = RuntimeSpec['limits']

const MAX_KNOWN = 100
const known = new Map<string, Limits>()

/** The limits an attempt was made with. Many attempts share the same few, so that parsed ones are kept. */
export function readLimits(attempt: { limits: string }): Limits {
  const limits = known.get(attempt.limits) ?? Limits.parse(JSON.parse(attempt.limits))
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(attempt.limits, limits)
  return limits
}

const specs = new Map<string, RuntimeSpec>()

/** The specification of a runtime, with all its defaults. Every election reads all of them, so that parsed ones are kept. */
export function readSpec(runtime: { spec: string }): RuntimeSpec {
  const spec = specs.get(runtime.spec) ?? completeSpec(JSON.parse(runtime.spec))
  if (specs.size >= MAX_KNOWN) specs.clear()
  specs.set(runtime.spec, spec)
  return spec
}

/** Most bytes of log that the server takes from any step and any build; unlimited where absent. */
export interface ServerLogLimits {
  readonly stepBytes?: number | undefined
  readonly buildBytes?: number | undefined
}

/** The specification as it is for one build: the machine that was asked for, and the strictest of all limits. */
export function fitSpec(spec: RuntimeSpec, request: BuildRequest | undefined, server: ServerLogLimits): RuntimeSpec {
  const { limits, dockerDaemonScheduler: dind } = spec
  const { cpu, memory, disk } = request?.machine ?? {}
  const asked = { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) }
  const { requests, limits: most } = dind.defaultDindResources
  const isAsked = Object.keys(asked).length > 0
  const wanted = request?.limits
  return {
    ...spec,
    dockerDaemonScheduler: {
      ...dind,
      ...(isAsked && { defaultDindResources: { requests: { ...requests, ...asked }, limits: { ...most, ...asked } } }),
      pvcs: { dind: { ...dind.pvcs.dind, ...(disk !== undefined && { volumeSize: disk }) } },
    },
    limits: {
      ...limits,
      stepLogBytes: smallest(limits.stepLogBytes, wanted?.stepLogBytes, server.stepBytes) ?? limits.stepLogBytes,
      buildLogBytes: smallest(limits.buildLogBytes, wanted?.buildLogBytes, server.buildBytes) ?? limits.buildLogBytes,
      buildMs: smallest(limits.buildMs, wanted?.buildMs) ?? limits.buildMs,
      inactiveMs: wanted?.inactiveMs ?? limits.inactiveMs,
    },
  }
}
