/** The fields of `T` without undefined. */
export type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/**
 * Returns the fields that are not undefined. Spread it for optional fields: `{ name, ...defined({ hint, url: server.url }) }`. A field that is
 * present but undefined would be a key in headers, labels and other records, and is not allowed by `exactOptionalPropertyTypes`. Browser-safe.
 */
export function defined<T extends object>(fields: T): Defined<T> {
  const result: Defined<T> = {}
  for (const key in fields) if (fields[key] !== undefined) result[key] = fields[key] as Exclude<T[typeof key], undefined>
  return result
}
