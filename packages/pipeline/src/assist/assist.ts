/** What an editor offers and explains at a place of a document. Works on documents that do not parse. */
import { EXPRESSION_FUNCTIONS } from '@windlass/plan'
import { STEP_TYPES } from '../actions/index.ts'
import { shapeText } from '../reference/describe.ts'
import type { Fields, Shape } from '../language/shape.ts'
import { BUILT_IN_STEP_TYPES } from '../typed/built-in.ts'
import { stagesOf, stepNamesOf, variablesOf, type KnownNames } from './names.ts'
import { placeAt, type Place } from './place.ts'
import { acceptedAt, findField, shapesOfKey, type Accepted } from './shapes.ts'

export type CompletionKind = 'field' | 'value' | 'type' | 'step' | 'stage' | 'context' | 'runtime' | 'variable' | 'function'

export interface Completion {
  readonly label: string
  readonly kind: CompletionKind
  /** Text to insert instead of what is written from `from` on. */
  readonly insert: string
  /** Accepted values, or the level of a variable. */
  readonly detail: string
  readonly about: string
}

export interface Completions {
  /** Offset at which the inserted text begins. */
  readonly from: number
  readonly items: readonly Completion[]
}

/** What is at a place: a field, a step type or a variable. */
export interface Explanation {
  readonly from: number
  readonly to: number
  readonly title: string
  readonly detail: string
  readonly about: string
}

const NOTHING: readonly Completion[] = []

/** Returns what can be written at an offset. */
export function completeAt(text: string, offset: number, names: KnownNames = {}): Completions {
  const variable = /\$\{\{[ \t]*([\w.]*)$/.exec(text.slice(Math.max(0, offset - 200), offset))
  if (variable !== null) return { from: offset - (variable[1]?.length ?? 0), items: variableItems(text, offset, names) }
  const place = placeAt(text, offset)
  if (place.isText) return { from: offset, items: NOTHING }
  const accepted = acceptedAt(place)
  if (place.key !== undefined) return valuesOfKey({ text, place, accepted, names, key: place.key })
  const fields = accepted.fields === undefined ? NOTHING : fieldItems(accepted.fields, place)
  const values = valueItems({ text, place, names, shapes: accepted.shapes, key: keyAround(place) })
  return { from: place.from, items: [...fields, ...values] }
}

interface ValueInput {
  readonly text: string
  readonly place: Place
  readonly names: KnownNames
}

function variableItems(text: string, offset: number, names: KnownNames): Completion[] {
  const isClosed = /^\w*\}\}/.test(text.slice(offset, offset + 200))
  return variablesOf(text, names).map(({ name, level, about = '' }) => ({
    label: name,
    kind: 'variable',
    insert: isClosed ? name : `${name}}}`,
    detail: level,
    about,
  }))
}

/** Returns the fields that the mapping does not have yet. */
function fieldItems(fields: Fields, { containers }: Place): Completion[] {
  const innermost = containers.at(-1)
  const written = innermost?.kind === 'map' ? innermost.entries : new Map<string, string>()
  return Object.entries(fields)
    .filter(([name, { aliases = [] }]) => ![name, ...aliases].some((one) => written.has(one)))
    .map(([name, { shape, about, required = false }]) => ({
      label: name,
      kind: 'field',
      insert: `${name}: `,
      detail: `${shapeText(shape)}${required ? ', required' : ''}`,
      about,
    }))
}

/** Returns the key whose list or mapping the cursor is in. */
function keyAround({ containers }: Place): string | undefined {
  const last = containers.findLast((one) => one.kind === 'map' && one.via !== undefined)
  return last?.kind === 'map' ? last.via : undefined
}

function valuesOfKey(input: ValueInput & { readonly accepted: Accepted; readonly key: string }): Completions {
  const { place, accepted, key } = input
  if (key === 'type' && accepted.isStep) return { from: place.from, items: typeItems(input.names) }
  return { from: place.from, items: valueItems({ ...input, shapes: shapesOfKey(accepted, key) }) }
}

function typeItems({ stepTypes = [] }: KnownNames): Completion[] {
  const own = Object.entries(STEP_TYPES).map(([name, { about }]) => typeItem(name, 'step type', about))
  const builtIn = BUILT_IN_STEP_TYPES.map(({ name, version }) => `${name}:${version}`)
  const typed = [...new Set([...stepTypes, ...builtIn])].map((name) => typeItem(name, 'typed step', 'A typed step.'))
  return [...own, ...typed]
}

function typeItem(name: string, detail: string, about: string): Completion {
  return { label: name, kind: 'type', insert: name, detail, about }
}

function item(kind: CompletionKind, detail: string): (label: string) => Completion {
  return (label) => ({ label, kind, insert: label, detail, about: '' })
}

/** Returns the values that a shape lists, and the names that belong to a key. */
function valueItems(input: ValueInput & { readonly shapes: readonly Shape[]; readonly key: string | undefined }): Completion[] {
  const { shapes, text } = input
  const listed = shapes.flatMap((shape): Completion[] => {
    if (shape.kind === 'word') return shape.words.map(item('value', 'value'))
    return shape.kind === 'flag' || shape.kind === 'strict-flag' ? ['true', 'false'].map(item('value', 'boolean')) : []
  })
  const named = shapes.some(({ kind }) => kind === 'text') ? namedItems(input) : []
  return [...listed, ...named, ...(isExpression(input.place) ? functionItems(text) : [])]
}

function namedItems({ text, place, names, key }: ValueInput & { readonly key: string | undefined }): Completion[] {
  const { contexts = [], runtimes = [] } = names
  const keys = place.containers.flatMap((one) => (one.kind === 'map' && one.via !== undefined ? [one.via] : []))
  const contextsOf = (...types: string[]): Completion[] =>
    contexts.filter(({ type }) => types.includes(type)).map(({ name, type }) => item('context', `${type} context`)(name))
  switch (key) {
    case 'stage':
      return stagesOf(text).map(item('stage', 'stage'))
    case 'contexts':
      return contextsOf('config', 'secret', 'yaml', 'secret-yaml', 'secret-store')
    case 'git':
      return contextsOf('git')
    case 'registry':
      return contextsOf('registry')
    case 'name': {
      if (keys.at(-1) === 'runtimeEnvironment') return runtimes.map(item('runtime', 'runtime'))
      return keys.includes('when') ? stepNamesOf(text).map(item('step', 'step')) : []
    }
    case 'steps':
    case 'only':
    case 'ignore':
      return keys.includes('success_criteria') ? stepNamesOf(text).map(item('step', 'step')) : []
    default:
      return []
  }
}

/** Returns true in labeled expressions of `when` and `success_criteria`. */
function isExpression({ containers, key }: Place): boolean {
  const keys = containers.flatMap((one) => (one.kind === 'map' && one.via !== undefined ? [one.via] : []))
  return key !== undefined && keys.at(-2) === 'condition' && (keys.at(-1) === 'all' || keys.at(-1) === 'any')
}

function functionItems(text: string): Completion[] {
  const functions = Object.entries(EXPRESSION_FUNCTIONS).map(([name, { parameters, about }]) => ({
    label: name,
    kind: 'function' as const,
    insert: `${name}(`,
    detail: `(${parameters.join(', ')})`,
    about,
  }))
  return [...functions, ...stepNamesOf(text).map((name) => ({ ...item('step', 'result of the step')(`steps.${name}.result`) }))]
}

/** Explains the field, step type or variable at an offset. Undefined if nothing is known about it. */
export function explainAt(text: string, offset: number, names: KnownNames = {}): Explanation | undefined {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  const end = text.indexOf('\n', offset)
  const line = text.slice(start, end === -1 ? undefined : end)
  for (const { 0: whole, 1: name = '', index } of line.matchAll(/\$\{\{[ \t]*([\w.]+)[ \t]*\}\}/g)) {
    const known = variablesOf(text, names).find((one) => one.name === name)
    const [from, to] = [start + index, start + index + whole.length]
    if (known !== undefined && offset >= from && offset <= to)
      return { from, to, title: name, detail: `variable, ${known.level}`, about: known.about ?? '' }
  }
  const key = /^[\s-]*["']?([^\s"':#][^"':#]*)["']?[ \t]*:(?:\s|$)/.exec(line)?.[1]
  if (key === undefined) return undefined
  const from = start + line.indexOf(key)
  const place = placeAt(text, from)
  const accepted = acceptedAt(place)
  const found = accepted.fields === undefined ? undefined : findField(accepted.fields, key)
  if (found !== undefined && offset <= from + key.length) {
    const [name, { shape, about, aliases = [] }] = found
    const others = aliases.length === 0 ? '' : `, also written ${aliases.join(', ')}`
    return { from, to: from + key.length, title: name, detail: shapeText(shape) + others, about }
  }
  const value = line.slice(from - start + key.length + 1).trim()
  if (key !== 'type' || !accepted.isStep || !Object.hasOwn(STEP_TYPES, value)) return undefined
  const at = start + line.lastIndexOf(value)
  const { about } = STEP_TYPES[value as keyof typeof STEP_TYPES]
  return { from: at, to: at + value.length, title: value, detail: 'step type', about }
}
