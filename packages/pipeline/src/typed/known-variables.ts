/** Substitutes the variables in arguments that are known when a build is created, so that templates can use them. */
import { exactReference, substitute } from '@windlass/plan'
import type { JsonTemplate, Scope } from '@windlass/plan'

/** Maximum number of characters that one typed step takes from variables; many references to a long value could exhaust memory. */
const MAX_FILLED = 4_194_304

/** Returns a scope that stops resolving names after it returned that many characters. */
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

/** Substitutes known references. A text that consists of one reference becomes the boolean or number that its schema requires. */
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

/** Returns the `type` of a schema. */
export function typeOf(schema: unknown): unknown {
  return memberOf(schema, 'type')
}
