/** The shapes that are accepted at a place, from the tables that validation uses. */
import { findType } from '../actions/index.ts'
import { NOT_IN_HOOKS } from '../language/control-fields.ts'
import { ROOT } from '../language/language.ts'
import { METADATA, PIPELINE, SPEC } from '../language/pipeline-language.ts'
import type { Field, Fields, Shape } from '../language/shape.ts'
import { typeFields } from '../language/type-fields.ts'
import type { Place } from './place.ts'

/** What can be written in a mapping or an item of a list. */
export interface Accepted {
  /** Fields of the mapping. Undefined if its keys are free. */
  readonly fields: Fields | undefined
  readonly shapes: readonly Shape[]
  /** True for the mapping of a step. */
  readonly isStep: boolean
}

type Entries = ReadonlyMap<string, string>

/** A place of the walk: shapes, and whether it is in a hook or directly in a group of steps that start together. */
interface Walk {
  readonly shapes: readonly Shape[]
  readonly isInHook: boolean
}

/** Replaces `own` and `either` by the shapes that they stand for. */
function plain(shape: Shape): readonly Shape[] {
  if (shape.kind === 'own') return plain(shape.as)
  return shape.kind === 'either' ? shape.of.flatMap(plain) : [shape]
}

function unquote(value: string | undefined): string | undefined {
  return value?.replace(/\s+#.*$/, '').replace(/^(["'])(.*)\1$/, '$2')
}

/** Returns the type that a step names: without its version for a type of the language. */
function typeOf(entries: Entries): string {
  const written = unquote(entries.get('type')) ?? ''
  const bare = written.split(':')[0] ?? ''
  return written === '' ? 'freestyle' : findType(bare) === undefined ? written : bare
}

function stepFields(entries: Entries, isInHook: boolean): Fields {
  const type = typeOf(entries)
  const { fields } = typeFields(findType(type))
  const isGroup = type === 'parallel'
  const isExpanded = entries.has('scale') || entries.has('matrix')
  const refused = new Set<string>([
    ...(isInHook ? NOT_IN_HOOKS : []),
    ...(isGroup ? ['scale', 'matrix'] : []),
    ...(isGroup || isExpanded ? [] : ['success_criteria']),
  ])
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !refused.has(name)))
}

function rootFields(entries: Entries): Fields {
  if (entries.has('kind') || entries.has('metadata') || entries.has('spec'))
    return {
      ...PIPELINE,
      metadata: { ...PIPELINE['metadata'], shape: { kind: 'record', fields: METADATA } } as Field,
      spec: { ...PIPELINE['spec'], shape: { kind: 'record', fields: { ...SPEC, ...ROOT } } } as Field,
    }
  const isEmpty = ![...entries.keys()].some((key) => key !== 'version')
  return isEmpty ? { ...ROOT, ...(PIPELINE['kind'] !== undefined && { kind: PIPELINE['kind'] }) } : ROOT
}

/** The root has a shape of its own, because its fields depend on what is written. */
const DOCUMENT: Shape = { kind: 'record', fields: {} }

function fieldsOf(shape: Shape, entries: Entries, isInHook: boolean): Fields | undefined {
  if (shape === DOCUMENT) return rootFields(entries)
  if (shape.kind === 'step') return stepFields(entries, isInHook)
  return shape.kind === 'record' ? shape.fields : undefined
}

/** Returns the field of a name or of its alias. */
export function findField(fields: Fields, key: string): readonly [string, Field] | undefined {
  if (Object.hasOwn(fields, key)) return [key, fields[key] as Field]
  return Object.entries(fields).find(([, { aliases = [] }]) => aliases.includes(key))
}

/** Returns the shapes of the value of a key. */
function below({ shapes, isInHook }: Walk, entries: Entries, key: string): readonly Shape[] {
  return shapes.flatMap((shape) => {
    if (shape.kind === 'map') return plain(shape.of)
    const fields = fieldsOf(shape, entries, isInHook)
    const field = fields === undefined ? undefined : findField(fields, key)?.[1]
    return field === undefined ? [] : plain(field.shape)
  })
}

/** Returns what is accepted in the innermost container of a place. */
export function acceptedAt({ containers }: Place): Accepted {
  let walk: Walk = { shapes: [DOCUMENT], isInHook: false }
  let entries: Entries = new Map()
  for (const container of containers) {
    if (container.kind === 'item') {
      walk = { ...walk, shapes: walk.shapes.flatMap((shape) => (shape.kind === 'list' ? plain(shape.of) : [])) }
      continue
    }
    entries = container.entries
    if (container.via === undefined) break
    walk = { shapes: below(walk, entries, container.via), isInHook: walk.isInHook || container.via === 'hooks' }
  }
  const { shapes, isInHook } = walk
  const all = shapes.map((shape) => fieldsOf(shape, entries, isInHook)).filter((fields) => fields !== undefined)
  // A hook takes a step or a record; what is written decides between them only once a key of one of them is there.
  const fitting = all.filter((fields) => [...entries.keys()].every((key) => findField(fields, key) !== undefined))
  const chosen = fitting.length === 0 ? all : fitting
  return {
    shapes,
    isStep: shapes.some(({ kind }) => kind === 'step'),
    fields: chosen.length === 0 ? undefined : Object.assign({}, ...chosen.toReversed()),
  }
}

/** Returns the shapes of the value of a key in the innermost container. */
export function shapesOfKey(accepted: Accepted, key: string): readonly Shape[] {
  const field = accepted.fields === undefined ? undefined : findField(accepted.fields, key)?.[1]
  if (field !== undefined) return plain(field.shape)
  return accepted.shapes.flatMap((shape) => (shape.kind === 'map' ? plain(shape.of) : []))
}
