/** Returns what is at a path of a value; undefined if there is nothing. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = Reflect.get(found, key)
  }
  return found
}
