/**
 * Encrypted variables in the text of a `kind: pipeline` document. The store seals those of `spec.variables` elsewhere. Those of triggers
 * are not stored at all. Steps are stored as written.
 */
import { fault } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { parseYaml, toValue, type Diagnostic, type Source } from '@windlass/pipeline'
import { toFlag } from '@windlass/plan'
import { MASK } from '@windlass/protocol'

/** Maximum variable names in a message. */
const MAX_NAMED = 10
/** Maximum warnings about values that are not stored. */
const MAX_WARNINGS = 100
/** Fields of `spec` that builds read from the stored document, so their values cannot be masked. */
const STEP_FIELDS: ReadonlySet<string> = new Set(['steps', 'hooks', 'services'])

interface Variable {
  readonly value: string
  readonly encrypted: boolean
}

/** Quickly excludes most documents without encrypted variables. A key can contain escapes. */
export function mayHaveSecrets(document: string): boolean {
  return /encrypted|\\/.test(document)
}

/**
 * Masks the encrypted values of a `kind: pipeline` document, which contains them in plain text. `variables` are those of `spec.variables`. The value of any
 * other encrypted variable becomes empty. Throws `request-invalid` if it cannot locate a value.
 */
export function maskDocument(document: string, variables: readonly Variable[]): string {
  const hasOpen = variables.some(({ encrypted, value }) => encrypted && value !== '' && value !== MASK)
  if (!hasOpen && !mayHaveSecrets(document)) return document
  const found = (findSecrets(document) ?? []).filter(mustBeMasked)
  if (found.length === 0) return document
  const pieces: string[] = []
  let done = 0
  for (const { value, mask } of found.toSorted((a, b) => a.value.range.start - b.value.range.start)) {
    const { start, end } = value.range
    if (start < done) continue
    pieces.push(document.slice(done, start), `'${mask}'`, document[end - 1] === '\n' ? '\n' : '')
    done = end
  }
  const masked = pieces.join('') + document.slice(done)
  // An alias may repeat the value elsewhere.
  const rest = findSecrets(masked)?.filter(mustBeMasked) ?? found
  if (rest.length === 0) return masked
  const names = rest
    .slice(0, MAX_NAMED)
    .map(({ name }) => name)
    .join(', ')
  throw fault('request-invalid', {
    message: `The value of the encrypted variable ${names} is behind an alias.`,
    hint: 'Write the value next to its key, then send the document again.',
  })
}

/** Masks a document that an earlier version stored. Returns a text without comments if the values cannot be located. */
export function maskStoredDocument(document: string): string {
  if (!mayHaveSecrets(document)) return document
  try {
    return maskDocument(document, [])
  } catch {
    const { root } = parseYaml({ text: document, file: '' })
    return root === undefined ? document : stringifyMasked(toValue(root), 2)
  }
}

/** Returns the data as JSON, with empty values of encrypted variables. */
export function stringifyMasked(data: unknown, indent?: number): string {
  return JSON.stringify(
    data,
    (_key, inner: unknown) =>
      isRecord(inner) && isMarked(inner['encrypted']) && 'value' in inner ? { ...inner, value: '' } : inner,
    indent,
  )
}

/** Returns true if a document that was converted to data has the value of an encrypted variable. */
export function hasSecrets(document: unknown): boolean {
  if (!isRecord(document) || !('kind' in document)) return false
  const { spec, ...rest } = document
  return hasSecretInside(rest) || hasSecretInside(isRecord(spec) ? withoutSteps(spec) : spec)
}

function withoutSteps(spec: Readonly<Record<string, unknown>>): unknown {
  return Object.fromEntries(Object.entries(spec).filter(([key]) => !STEP_FIELDS.has(key)))
}

function hasSecretInside(data: unknown): boolean {
  if (Array.isArray(data)) return data.some(hasSecretInside)
  if (!isRecord(data)) return false
  const { encrypted, value } = data
  if (isMarked(encrypted) && value !== undefined && value !== null && value !== '' && value !== MASK) return true
  return Object.values(data).some(hasSecretInside)
}

/** Returns a warning for each encrypted variable whose value is not stored. */
export function unstoredSecrets({ text, file }: Source): Diagnostic[] {
  if (!mayHaveSecrets(text)) return []
  const { root, source } = parseYaml({ text, file })
  return (root === undefined ? [] : secretsIn(root))
    .filter(({ mask }) => mask === '')
    .slice(0, MAX_WARNINGS)
    .map(({ name, path, value: { range } }) => {
      const [start, end] = [source.placeOf(range.start), source.placeOf(range.end)]
      return {
        file,
        ...start,
        endLine: end.line,
        endColumn: end.column,
        severity: 'warning',
        code: 'no-effect',
        message: `the encrypted variable "${name}" is not stored, because it is not in "spec.variables"`,
        hint: 'Put the value in a context of type secret, and name the context in `contexts` of the trigger.',
        path,
      }
    })
}

type Node = NonNullable<ReturnType<typeof parseYaml>['root']>

/** An encrypted variable in a document. */
interface Secret {
  readonly name: string
  readonly path: string
  readonly value: Node
  /** What is stored instead of the value. */
  readonly mask: string
}

/** A value that is not stored must not be `*****` either, because there is nothing to keep. */
function mustBeMasked({ value, mask }: Secret): boolean {
  return value.kind !== 'scalar' || (value.value !== null && value.value !== '' && value.value !== mask)
}

/** Finds the encrypted variables of a document. Undefined for a document that is not valid YAML. */
function findSecrets(document: string): Secret[] | undefined {
  const { root } = parseYaml({ text: document, file: '' })
  return root && secretsIn(root)
}

/** Finds the encrypted variables below the root of a document, each value once. */
function secretsIn(root: Node): Secret[] {
  if (root.kind !== 'map' || !root.entries.has('kind')) return []
  const found: Secret[] = []
  // An alias is the same node as its anchor.
  const seen = new Set<Node>()
  const values = new Set<Node>()
  const visit = (node: Node, path: string, mask: string): void => {
    if (seen.has(node)) return
    seen.add(node)
    if (node.kind === 'list') for (const [index, item] of node.items.entries()) visit(item, `${path}[${index}]`, mask)
    if (node.kind !== 'map') return
    const value = childOf(node, 'value')
    const encrypted = childOf(node, 'encrypted')
    const flag = encrypted?.kind === 'scalar' ? encrypted.value : encrypted
    const isSecret = value !== undefined && (mask === MASK ? isTrue(flag) : isMarked(flag))
    if (isSecret && !values.has(value)) {
      values.add(value)
      const key = childOf(node, 'key')
      found.push({ name: key?.kind === 'scalar' ? String(key.value) : path, path, value, mask })
    }
    for (const [key, entry] of node.entries) if (!isSecret || entry.value !== value) visit(entry.value, `${path}.${key}`, mask)
  }
  const spec = childOf(root, 'spec')
  // First, because a trigger can repeat these variables as an alias.
  const own = childOf(spec, 'variables')
  if (own !== undefined) visit(own, 'spec.variables', MASK)
  for (const [key, { value }] of spec?.kind === 'map' ? spec.entries : [])
    if (!STEP_FIELDS.has(key)) visit(value, `spec.${key}`, '')
  for (const [key, { value }] of root.entries) if (value !== spec) visit(value, key, '')
  return found
}

/** Returns true for all spellings of true in a document. */
function isTrue(flag: unknown): boolean {
  return isScalar(flag) && toFlag(String(flag)) === true
}

/** Returns true for all values but the spellings of false, because a typing error must not show a secret. */
function isMarked(flag: unknown): boolean {
  return isScalar(flag) && flag !== '' && toFlag(String(flag)) !== false
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

function childOf(node: Node | undefined, key: string): Node | undefined {
  return node?.kind === 'map' ? node.entries.get(key)?.value : undefined
}
