/** The Git triggers of a `kind: pipeline` document. Documents are accepted with triggers of any shape, so each trigger is read by itself. */
import { isRecord } from '@windlass/kit/json'
import { toFlag } from '@windlass/plan'
import { EVENT_TRIGGER_TYPES, GitTrigger } from '@windlass/protocol'

/** Maximum number of triggers of a document. */
export const MAX_TRIGGERS = 100

export interface ReadTriggers {
  readonly triggers: readonly GitTrigger[]
  /** Triggers that start no builds, and why. */
  readonly problems: readonly TriggerProblem[]
}

export interface TriggerProblem {
  readonly index: number
  readonly message: string
}

/** Reads `spec.triggers` as written. `readEventTriggers` reads those of its types. The last of several triggers with one name counts. */
export function readTriggers(written: unknown): ReadTriggers {
  if (!Array.isArray(written)) return { triggers: [], problems: [] }
  const triggers = new Map<string, GitTrigger>()
  const problems: TriggerProblem[] = []
  for (const [index, one] of written.entries()) {
    if (isRecord(one) && EVENT_TRIGGER_TYPES.some((type) => type === one['type'])) continue
    const read = index < MAX_TRIGGERS ? GitTrigger.safeParse(normalize(one)) : undefined
    if (read?.data !== undefined) triggers.set(read.data.name, read.data)
    else problems.push({ index, message: explain(one, read?.error?.issues[0]) })
  }
  return { triggers: [...triggers.values()], problems }
}

interface Issue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

/** Returns the message about a trigger that cannot be read; without an issue it is one too many. */
export function explain(one: unknown, issue: Issue | undefined): string {
  const name = isRecord(one) && typeof one['name'] === 'string' ? ` "${one['name'].slice(0, 200)}"` : ''
  const why = issue === undefined ? `a pipeline has at most ${MAX_TRIGGERS} triggers` : textOf(issue)
  return `the trigger${name} starts no builds: ${why}`
}

function textOf({ path, message }: Issue): string {
  if (path.length === 0) return message
  const field = `"${path.join('.')}"`
  return message.endsWith('received undefined') ? `${field} is missing` : `${field}: ${message}`
}

/** Brings the values of a document into the form of the API: absent instead of empty, texts as values of variables. */
export function normalize(one: unknown): unknown {
  if (!isRecord(one)) return one
  const fields = Object.fromEntries(Object.entries(one).filter(([, value]) => value !== null && value !== ''))
  const { variables } = fields
  return Array.isArray(variables) ? { ...fields, variables: variables.flatMap(normalizeVariable) } : fields
}

/** Leaves out encrypted variables, which only pipelines can store. `mask-document.ts` warns about them. */
function normalizeVariable(one: unknown): unknown[] {
  if (!isRecord(one)) return [one]
  const { key, value = '', encrypted } = one
  if (!isOpen(encrypted)) return []
  const text = value === null ? '' : typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
  return [{ key, value: text }]
}

/** A typing error must not store a secret, so everything that is not false counts as true. */
function isOpen(encrypted: unknown): boolean {
  return (
    encrypted === undefined ||
    encrypted === null ||
    encrypted === false ||
    (typeof encrypted === 'string' && toFlag(encrypted) === false)
  )
}
