type Present<T> = { [K in keyof T]?: NonNullable<T[K]> }

/** Returns the entries that are neither null nor undefined. */
export function present<T extends Record<string, unknown>>(values: T): Present<T> {
  const kept: Present<T> = {}
  for (const key in values) {
    const value = values[key]
    if (value !== null && value !== undefined) kept[key] = value
  }
  return kept
}
