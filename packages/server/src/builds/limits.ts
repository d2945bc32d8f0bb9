import { RuntimeSpec } from '@windlass/protocol'

const Limits = RuntimeSpec.shape.limits
export type Limits = RuntimeSpec['limits']

/** The limits an attempt was made with. */
export function readLimits(attempt: { limits: string }): Limits {
  return Limits.parse(JSON.parse(attempt.limits))
}

/** The specification of a runtime, with all its defaults. */
export function readSpec(runtime: { spec: string }): RuntimeSpec {
  return RuntimeSpec.parse(JSON.parse(runtime.spec))
}
