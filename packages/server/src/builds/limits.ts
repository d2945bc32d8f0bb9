import { RuntimeSpec } from '@windlass/protocol'

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

/** The specification of a runtime, with all its defaults. */
export function readSpec(runtime: { spec: string }): RuntimeSpec {
  return RuntimeSpec.parse(JSON.parse(runtime.spec))
}
