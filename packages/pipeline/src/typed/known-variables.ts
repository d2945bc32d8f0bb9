/** What of a step's arguments is known when a build is made, so that templates can decide by it. */
import { exactReference, substitute } from '@windlass/plan'
import type { JsonTemplate, Scope } from '@windlass/plan'

/** Characters that one typed step may take from variables; a list of references to a long value could fill the memory. */
const MAX_FILLED = 4_194_304

/** The same scope, until it has given out so much that the rest stays references. */
export function withBudget(scope: Scope): Scope {
  let left = MAX_FILLED
  return {
    lookup(name) {
      const value = left > 0 ? scope.lookup(name) : undefined
      left -= value?.length ?? 0
      return value
    },
  }
}

/** A value with its known references filled in. A text that was one reference becomes the boolean or number that its schema asks for. */
export function fillKnown(value: JsonTemplate, scope: Scope, schema: unknown): JsonTemplate {
  if (typeof value === 'string') return fillText(value, scope, typeOf(schema))
  if (typeof value !== 'object' || value === null) return value
  if (isList(value)) return value.map((item) => fillKnown(item, scope, memberOf(schema, 'items')))
  const properties = memberOf(schema, 'properties')
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, fillKnown(inner, scope, memberOf(properties, key))]),
  )
}

function isList(value: JsonTemplate): value is readonly JsonTemplate[] {
  return Array.isArray(value)
}

function fillText(text: string, scope: Scope, type: unknown): JsonTemplate {
  const filled = substitute(text, scope).text
  if (exactReference(text) === undefined || filled === text) return filled
  if (type === 'boolean' && /^(?:true|false)$/i.test(filled)) return filled.toLowerCase() === 'true'
  if ((type === 'number' || type === 'integer') && filled.trim() !== '' && Number.isFinite(Number(filled))) return Number(filled)
  return filled
}

function memberOf(schema: unknown, key: string): unknown {
  return typeof schema === 'object' && schema !== null && Object.hasOwn(schema, key) ? Reflect.get(schema, key) : undefined
}

/** The `type` of a property's schema. */
export function typeOf(schema: unknown): unknown {
  return memberOf(schema, 'type')
}
