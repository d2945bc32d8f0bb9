/**
 * Shapes of JSON values. A shape checks a whole value and refuses every field that it does not name. Shapes do not stop at the first
 * problem, so that one message lists them all.
 */
import { isRecord } from '@windlass/kit/json'

/** The path of a value, and the callback for its problems. */
export interface Place {
  /** Such as `spec.containers[0].image`; empty for the whole object. */
  readonly path: string
  readonly refuse: (path: string, message: string) => void
}
export type Shape = (value: unknown, place: Place) => void
export type Mapping = Readonly<Record<string, unknown>>

/** Hint for a field that no setting of the agent allows. */
export const NO_SETTING = 'Remove it from the runtime; no setting of the agent allows it.'

/** Returns a value as JSON for a message, at most 100 characters. */
export function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 100 ? `${text.slice(0, 97)}...` : text
}

/** Returns the place of a field. A key with characters outside of Kubernetes field names is quoted. */
export function at(place: Place, key: string): Place {
  const name = /^[A-Za-z][A-Za-z0-9]*$/.test(key) ? key : `[${quote(key)}]`
  const separator = place.path === '' || name.startsWith('[') ? '' : '.'
  return { ...place, path: place.path + separator + name }
}

/** A mapping with these fields and no others. Fields in `required` must be present. */
export function record(fields: Readonly<Record<string, Shape>>, required: readonly string[] = []): Shape {
  return (value, place) => {
    if (!isRecord(value)) return place.refuse(place.path, `must be a mapping, not ${quote(value)}.`)
    for (const [key, field] of Object.entries(value)) {
      const shape = Object.hasOwn(fields, key) ? fields[key] : undefined
      if (shape === undefined) refuseField(key, field, place)
      else shape(field, at(place, key))
    }
    for (const key of required) if (!Object.hasOwn(value, key)) place.refuse(at(place, key).path, 'is missing, but required.')
  }
}

/** Refuses a field that a shape does not name. */
function refuseField(key: string, value: unknown, place: Place): void {
  place.refuse(at(place, key).path, `is not an allowed field (its value is ${quote(value)}). ${NO_SETTING}`)
}

/** A mapping with any keys; `entry` checks each. */
export function mapping(entry: (key: string, value: unknown, place: Place) => void): Shape {
  return (value, place) => {
    if (!isRecord(value)) return place.refuse(place.path, `must be a mapping, not ${quote(value)}.`)
    for (const [key, field] of Object.entries(value)) entry(key, field, at(place, key))
  }
}

/** A list of at least `least` items. */
export function list(item: Shape, least = 0): Shape {
  return (value, place) => {
    if (!Array.isArray(value)) return place.refuse(place.path, `must be a list, not ${quote(value)}.`)
    if (value.length < least) place.refuse(place.path, `must have at least ${least} items.`)
    for (const [index, field] of value.entries()) item(field, { ...place, path: `${place.path}[${index}]` })
  }
}

/** A string; `judge` returns the problem, if any. */
export function text(judge: (value: string) => string | undefined = () => undefined): Shape {
  return (value, place) => {
    if (typeof value !== 'string') return place.refuse(place.path, `must be a string, not ${quote(value)}.`)
    const problem = judge(value)
    if (problem !== undefined) place.refuse(place.path, problem)
  }
}

/** One of a few values. `hint` says how the owner of the cluster allows others. */
export function oneOf(values: readonly (string | number | boolean)[], hint = NO_SETTING): Shape {
  return (value, place) => {
    if (values.some((allowed) => allowed === value)) return
    const expected = values.length === 0 ? 'no value is allowed' : `must be ${values.map(quote).join(' or ')}`
    place.refuse(place.path, `is ${quote(value)}, but ${expected}. ${hint}`)
  }
}

export const flag: Shape = oneOf([true, false])

/** A whole number of at least `least`. */
export function integer(least = 0): Shape {
  return (value, place) => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least)
      place.refuse(place.path, `must be a whole number of at least ${least}, not ${quote(value)}.`)
  }
}

/** Several shapes for one value. */
export function all(...shapes: readonly Shape[]): Shape {
  return (value, place) => {
    for (const shape of shapes) shape(value, place)
  }
}

/** Accepts any value, for fields that another shape checks. */
export const anyValue: Shape = () => undefined
