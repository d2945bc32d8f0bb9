/** The containers of a pod, from its manifest. */
import { isRecord } from '@windlass/kit/json'

/** Returns their names, in the order in which they matter: those that run, then those that prepare, then those for debugging. */
export function containersOf({ spec }: Readonly<Record<string, unknown>>): string[] {
  if (!isRecord(spec)) return []
  return ['containers', 'initContainers', 'ephemeralContainers'].flatMap((field) => {
    const given = spec[field]
    if (!Array.isArray(given)) return []
    return given.flatMap((one) => (isRecord(one) && typeof one['name'] === 'string' ? [one['name']] : []))
  })
}

/** Returns the uid of an object, which its events name. */
export function uidOf({ metadata }: Readonly<Record<string, unknown>>): string | undefined {
  return isRecord(metadata) && typeof metadata['uid'] === 'string' ? metadata['uid'] : undefined
}
