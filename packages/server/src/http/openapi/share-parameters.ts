import { asRecord, type Json } from './openapi-schemas.ts'

/** A parameter that fewer operations have stays where it is. */
const MIN_USES = 3

/** Replaces parameters that several operations have with references, in place. Returns them by name, for `components.parameters`. */
export function shareParameters(operations: readonly Json[]): Json {
  const lists = operations.map((operation) => operation['parameters']).filter((list) => Array.isArray(list))
  const shared: Json = {}
  const names = new Map<string, string>()
  for (const [text, uses] of Map.groupBy(lists.flat(), (parameter) => JSON.stringify(parameter))) {
    if (uses.length < MIN_USES) continue
    const name = String(asRecord(uses[0])['name'])
    let free = name
    for (let n = 2; Object.hasOwn(shared, free); n += 1) free = `${name}-${n}`
    shared[free] = uses[0]
    names.set(text, free)
  }
  for (const list of lists)
    for (const [index, parameter] of list.entries()) {
      const name = names.get(JSON.stringify(parameter))
      if (name !== undefined) list[index] = { $ref: `#/components/parameters/${name}` }
    }
  return shared
}
