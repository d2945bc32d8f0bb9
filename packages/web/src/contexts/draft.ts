/** A context as its form has it, and the input that stores it. Secret values that are kept never reach the form. Pure. */
import {
  CONTEXT_FIELDS,
  ContextInput,
  isIntegration,
  isSecretContextField,
  isYamlContext,
  MASK,
  REQUIRED_CONTEXT_FIELD,
  type Context,
} from '@windlass/protocol'

type ContextType = ContextInput['type']

export const TYPE_WORDS: Readonly<Record<ContextType, string>> = {
  config: 'Variables',
  secret: 'Secret variables',
  yaml: 'Variables of any shape',
  'secret-yaml': 'Secret variables of any shape',
  git: 'Git login',
  registry: 'Registry login',
  kubernetes: 'Kubernetes cluster',
  'secret-store': 'Secret store',
}

/** One field of the form. */
export interface DraftField {
  readonly name: string
  readonly value: string
  readonly isSecret: boolean
  /** True if a secret is stored and the form does not replace it. */
  readonly isKept: boolean
  /** True if the name can be changed: the type has no fixed fields. */
  readonly isNamed: boolean
}

/** Returns the fields of a new context of a type. */
export function newDraft(type: ContextType): DraftField[] {
  if (!isIntegration(type)) return [newField(type)]
  const { open, secret } = CONTEXT_FIELDS[type]
  return [...open, ...secret].map((name) => fixedField(type, name, undefined))
}

/** Returns an empty field for a variable. */
export function newField(type: ContextType): DraftField {
  return { name: '', value: '', isSecret: isSecretContextField(type, ''), isKept: false, isNamed: true }
}

function fixedField(type: ContextType, name: string, stored: unknown): DraftField {
  const isSecret = isSecretContextField(type, name)
  const isKept = isSecret && stored === MASK
  return { name, value: isSecret || stored === undefined ? '' : textOf(stored), isSecret, isKept, isNamed: false }
}

/** Returns the fields of a stored context. */
export function toDraft({ type, data }: Context): DraftField[] {
  if (isIntegration(type)) {
    const { open, secret } = CONTEXT_FIELDS[type]
    return [...open, ...secret].map((name) => fixedField(type, name, data[name]))
  }
  return Object.entries(data).map(([name, value]) => ({ ...fixedField(type, name, value), isNamed: true }))
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

interface Written {
  readonly name: string
  readonly type: ContextType
  readonly isDefault: boolean
  readonly fields: readonly DraftField[]
}

/** Returns the input that stores a draft, or what is wrong with it in one sentence. */
export function toContextInput({ name, type, isDefault, fields }: Written): ContextInput | string {
  const used = fields.filter(({ name: field, value, isKept, isNamed }) => isKept || value !== '' || (isNamed && field !== ''))
  const unnamed = used.find(({ name: field }) => field.trim() === '')
  if (unnamed !== undefined) return 'A variable has a value but no name.'
  const names = used.map((field) => field.name.trim())
  const twice = names.find((field, index) => names.indexOf(field) !== index)
  if (twice !== undefined) return `The variable ${twice} is there twice.`
  if (isIntegration(type) && !('resourceName' in Object.fromEntries(names.map((one) => [one, 1])))) {
    const required = REQUIRED_CONTEXT_FIELD[type]
    if (!names.includes(required)) return `The field ${required} is empty.`
  }
  const data = Object.fromEntries(used.map((field) => [field.name.trim(), field.isKept ? MASK : readValue(type, field.value)]))
  const checked = ContextInput.safeParse({ name: name.trim(), type, isDefault, data })
  if (checked.success) return checked.data
  const [issue] = checked.error.issues
  return `${issue?.path.map(String).join('.') ?? 'context'}: ${issue?.message ?? 'is not complete'}`
}

/** Values of any shape are written as JSON; a text that is not JSON is a string. */
function readValue(type: ContextType, text: string): unknown {
  if (!isYamlContext(type)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
