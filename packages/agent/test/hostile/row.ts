/** Rows of hostile objects; each changes one field of an allowed object. */
import type { StartTask } from '@windlass/protocol'
import { changed, type Role } from '../support/attempt-objects.ts'

/** Path with dots in the object, its value (undefined removes the field), and the path of the problem if it differs. */
export type Field = readonly [path: string, value: unknown, refused?: string]

export interface Hostile {
  readonly role: Role
  /** Title of the test. */
  readonly title: string
  readonly task: StartTask
  /** Beginning of the only problem. */
  readonly refusal: string
}

/** Returns the rows of a table below a path of each of these objects. */
export function rowsFor(task: StartTask, places: readonly (readonly [Role, string])[], fields: readonly Field[]): Hostile[] {
  return places.flatMap(([role, base]) =>
    fields.map(([path, value, refused]) => {
      const keys = keysOf(base === '' ? path : `${base}.${path}`)
      const object = changed(task, role, keys, value)
      const place = refused === undefined ? spell(keys) : spell(keysOf(base === '' ? refused : `${base}.${refused}`))
      const title = `${role} ${spell(keys)} = ${JSON.stringify(value) ?? 'absent'}`
      return { role, title, task: object, refusal: ` ${place}: ` }
    }),
  )
}

/** Splits `a.b.0.c/d` at its dots; text in brackets is one key. */
function keysOf(path: string): string[] {
  return [...path.matchAll(/\[([^\]]+)\]|[^.[\]]+/g)].map((found) => found[1] ?? found[0])
}

/** Returns the path as a message has it: `a.b[0]`, with other keys in quotes. */
function spell(keys: readonly string[]): string {
  return keys.reduce((path, key) => {
    if (/^[0-9]+$/.test(key)) return `${path}[${key}]`
    if (/^[A-Za-z][A-Za-z0-9]*$/.test(key)) return path === '' ? key : `${path}.${key}`
    return `${path}[${JSON.stringify(key)}]`
  }, '')
}
