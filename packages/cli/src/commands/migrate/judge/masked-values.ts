/** Values that an account does not give away. It shows `*****` instead. */
import { parseYaml } from '@windlass/pipeline'

/** How a secret is shown. Sent to a server, it keeps the stored value. */
export const MASK = '*****'

export function isMasked(value: unknown): boolean {
  return typeof value === 'string' && /^\*{5,}\s*$/.test(value)
}

type Node = ReturnType<typeof parseYaml>['root']
type Range = { readonly start: number; readonly end: number }

/** A value in the settings of a `kind: pipeline` document. */
interface PlacedValue {
  /** `spec.variables.NAME` for variables of the pipeline. */
  readonly path: string
  /** Name of the variable of the pipeline; undefined for all other values. */
  readonly variable: string | undefined
  readonly isEncrypted: boolean
  readonly value: unknown
  readonly range: Range
}

/** Fields of `spec` that may contain variables. Steps are not changed. */
const WITH_VARIABLES = ['variables', 'triggers', 'cronTriggers'] as const

/** Replaces values in the settings of a pipeline document for which `replace` returns a text; all else stays as written. */
export function replaceValues(text: string, replace: (value: PlacedValue) => string | undefined): string {
  const pieces: string[] = []
  let done = 0
  const places = listValues(text).toSorted((a, b) => a.range.start - b.range.start)
  for (const place of places) {
    const { start, end } = place.range
    const fresh = start < done ? undefined : replace(place)
    if (fresh === undefined) continue
    pieces.push(text.slice(done, start), `'${fresh}'`, text[end - 1] === '\n' ? '\n' : '')
    done = end
  }
  return pieces.join('') + text.slice(done)
}

/**
 * Returns the document with empty masked values, and their paths and variables. Encrypted variables that are empty already, as `--output-dir` writes them, are
 * among the variables, so that a server keeps the values that it has.
 */
export function blankMasked(text: string): {
  readonly text: string
  readonly paths: readonly string[]
  readonly emptyPaths: readonly string[]
  readonly variables: readonly string[]
} {
  const masked: PlacedValue[] = []
  const empty: PlacedValue[] = []
  const blank = replaceValues(text, (place) => {
    if (place.isEncrypted && place.value === '') empty.push(place)
    if (!isMasked(place.value)) return undefined
    masked.push(place)
    return ''
  })
  const pathsOf = (places: readonly PlacedValue[]): string[] => places.map(({ path }) => path)
  const variables = [...masked, ...empty].flatMap(({ variable }) => variable ?? [])
  return { text: blank, paths: pathsOf(masked), emptyPaths: pathsOf(empty), variables }
}

/** Returns the document without the values of encrypted variables, to compare it with a stored one. */
export function withoutSecrets(text: string): string {
  return replaceValues(text, ({ isEncrypted, value }) => (isEncrypted || isMasked(value) ? '' : undefined))
}

/** Returns the document with the mask as the value of these variables, so that a server keeps the values that it has. */
export function keepValues(text: string, variables: ReadonlySet<string>): string {
  return replaceValues(text, ({ variable, isEncrypted }) =>
    isEncrypted && variable !== undefined && variables.has(variable) ? MASK : undefined,
  )
}

function listValues(text: string): PlacedValue[] {
  const spec = childOf(parseYaml({ text, file: '' }).root, 'spec')
  return WITH_VARIABLES.flatMap((field) =>
    listInside(childOf(spec, field), { path: `spec.${field}`, isOwn: field === 'variables' }),
  )
}

interface Place {
  readonly path: string
  /** True in the list of variables of the pipeline. */
  readonly isOwn: boolean
}

function listInside(node: Node, { path, isOwn }: Place): PlacedValue[] {
  if (node?.kind === 'list')
    return node.items.flatMap((item, index) => {
      const key = keyOf(item)
      return key === undefined
        ? listInside(item, { path: `${path}[${index}]`, isOwn: false })
        : listVariable(item, { path: `${path}.${key}`, variable: isOwn ? key : undefined })
    })
  if (node?.kind === 'map')
    return [...node.entries].flatMap(([key, { value }]) => listInside(value, { path: `${path}.${key}`, isOwn: false }))
  return node === undefined ? [] : [{ path, variable: undefined, isEncrypted: false, value: node.value, range: node.range }]
}

function listVariable(item: Node, { path, variable }: Pick<PlacedValue, 'path' | 'variable'>): PlacedValue[] {
  const value = childOf(item, 'value')
  if (value?.kind !== 'scalar' || value.range.end <= value.range.start) return []
  const encrypted = childOf(item, 'encrypted')
  const isEncrypted = encrypted?.kind === 'scalar' && /^(true|yes|on|1)$/i.test(String(encrypted.value))
  return [{ path, variable, isEncrypted, value: value.value, range: value.range }]
}

/** Returns the name of a variable in a list: `{ key, value }`. */
function keyOf(item: Node): string | undefined {
  const key = childOf(item, 'key')
  return key?.kind === 'scalar' && typeof key.value === 'string' && childOf(item, 'value') !== undefined ? key.value : undefined
}

function childOf(node: Node, key: string): Node {
  return node?.kind === 'map' ? node.entries.get(key)?.value : undefined
}
