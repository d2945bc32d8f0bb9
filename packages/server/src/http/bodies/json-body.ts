/** JSON bodies. The number and the depth of their values are limited before they are parsed. */
import { excessOf, fault, MAX_JSON_DEPTH, type JsonParts } from '@windlass/kit'

/** Maximum number of fields and list items in the body of a user. */
const MAX_PARTS = 20_000
/** Maximum for agents, engines and monitors, which report thousands of objects at once. */
const MAX_REPORT_PARTS = 500_000
/** Maximum for reporters, with the manifests in their bodies. What our reporter sends at once has about half of it. */
const MAX_EVENT_PARTS = 200_000

/** Routes of agents, engines and monitors. */
const REPORTS = /^\/(?:v1\/(?:engine|agent|monitor)|api\/agent)\//
/** Route of reporters of GitOps runtimes. */
const EVENTS = '/2.0/api/events'

/** Returns the limit of the bodies of a route. */
export function partsOf(route: string): JsonParts {
  const max = route === EVENTS ? MAX_EVENT_PARTS : REPORTS.test(route) ? MAX_REPORT_PARTS : MAX_PARTS
  return { max, left: max }
}

/**
 * Parses the body of a call. `route` is the declared path of the route, because the path of a request can be written in several ways. Fields named
 * `__proto__` are removed. Returns undefined for an empty body. Throws `request-invalid`.
 */
export function parseJson(text: string, route: string, parts = partsOf(route)): unknown {
  if (text === '') return undefined
  requireLimits(text, parts)
  try {
    const body: unknown = JSON.parse(text)
    if (PROTOTYPE.test(text)) removePrototypes(body)
    return body
  } catch (error) {
    throw fault('request-invalid', { message: 'The body is not valid JSON.', hint: 'Send the body as JSON in UTF-8.' }, error)
  }
}

/** Takes what the text has from `parts`. Throws `request-invalid`. */
function requireLimits(text: string, parts: JsonParts): void {
  const excess = excessOf(text, parts)
  if (excess === 'parts')
    throw fault('request-invalid', {
      message: `The body has more than ${parts.max.toLocaleString('en')} fields and list items.`,
      hint: 'Split the request into smaller ones.',
    })
  if (excess === 'levels')
    throw fault('request-invalid', {
      message: `The body has more than ${MAX_JSON_DEPTH} lists and objects inside each other.`,
      hint: 'Send a body with fewer levels.',
    })
}

/** The name, also escaped. Bodies without it are not traversed. */
const PROTOTYPE = /__proto__|\\u005f/i

/** Removes the fields in place. A reviver of `JSON.parse` would be ten times slower. */
function removePrototypes(body: unknown): void {
  const open: unknown[] = [body]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue
    if (!Array.isArray(value) && Object.hasOwn(value, '__proto__')) Reflect.deleteProperty(value, '__proto__')
    for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) open.push(inner)
  }
}
