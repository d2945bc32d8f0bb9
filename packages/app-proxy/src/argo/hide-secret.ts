/** Values of Secrets stay in the cluster. Argo CD replaces them already; this holds for one that does not, such as one with a plugin. */
import { isRecord } from '@windlass/kit/json'

/** What Argo CD writes instead of a value. Those of two different values have different lengths. */
const MARK = /^\++$/
const HIDDEN = '(hidden)'
/** Has the whole object as text. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** Returns a Secret without its values. Other objects stay as they are. */
export function hideSecret(state: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { apiVersion, kind, metadata } = state
  if (kind !== 'Secret' || apiVersion !== 'v1') return state
  const hidden = Object.fromEntries(
    ['data', 'stringData'].flatMap((field) => (state[field] === undefined ? [] : [[field, hideValues(state[field])]])),
  )
  return { ...state, ...hidden, ...(isRecord(metadata) && { metadata: withoutLastApplied(metadata) }) }
}

function hideValues(values: unknown): unknown {
  if (!isRecord(values)) return HIDDEN
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' && MARK.test(value) ? value : HIDDEN]),
  )
}

function withoutLastApplied(metadata: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { annotations } = metadata
  if (!isRecord(annotations) || annotations[LAST_APPLIED] === undefined) return metadata
  return { ...metadata, annotations: { ...annotations, [LAST_APPLIED]: HIDDEN } }
}
