/** Values of specifications as the page shows them. Pure. */
import { leavesOf, type RuntimeLayer } from '@windlass/protocol'

/** Returns the namespace in which builds run. */
export function namespaceOf(spec: RuntimeLayer): string | undefined {
  const found = leavesOf(spec).get('runtimeScheduler.cluster.namespace')
  return typeof found === 'string' ? found : undefined
}

/** Writes a value on one line: text as it is, other values as JSON. */
export function writeValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
