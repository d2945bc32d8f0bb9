/** Reads the configuration of a runner, and says what is wrong in it. */
import { defined } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { parse, TomlError } from 'smol-toml'
import type { z } from 'zod'
import { RunnerConfig } from './schema.ts'
import { remarksOn } from './semantics.ts'
import { tomlLines, type Path, type TomlLines } from './keys/toml-lines.ts'
import { unknownKeys } from './keys/unknown-keys.ts'
import { unusedKeys } from './keys/unused-keys.ts'

export interface Finding {
  /** A configuration with errors is not used. */
  readonly severity: 'error' | 'warning'
  /** 1 for the first line. */
  readonly line: number
  /** Dotted path of the key, such as `runners[0].kubernetes.image`. Empty for an error of the syntax. */
  readonly key: string
  readonly message: string
  readonly hint?: string
  /** True for a key that the schema does not have. */
  readonly isUnknownKey?: true
  /** Name of the runner that the key belongs to. */
  readonly runner?: string
}

export interface ReadConfig {
  /** Undefined if there is an error. */
  readonly config: RunnerConfig | undefined
  /** In the order of lines. */
  readonly findings: readonly Finding[]
}

/** Longest text that is read. Characters. */
const MAX_CONFIG_CHARS = 1_048_576

/** Reads a text of TOML. Does not throw: everything that is wrong is a finding. Unknown keys are warnings, because the original ignores them. */
export function readConfigText(text: string): ReadConfig {
  if (text.length > MAX_CONFIG_CHARS)
    return failed({ line: 1, message: `the configuration is longer than ${MAX_CONFIG_CHARS.toLocaleString('en')} characters` })
  let value: unknown
  try {
    value = parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    return failed({ line: error.line, message: reasonOf(error) })
  }
  const lines = tomlLines(text)
  const parsed = RunnerConfig.safeParse(value)
  const findings = unknownKeys(RunnerConfig, value).map(({ path, near }): Finding => {
    const key = String(path.at(-1))
    return {
      severity: 'warning',
      line: lines.lineOf(path),
      key: toText(path),
      message: `the key "${key}" is not known, and is ignored`,
      isUnknownKey: true,
      ...(near !== undefined && { hint: `Did you mean ${near}?` }),
    }
  })
  if (parsed.success)
    findings.push(
      ...[...remarksOn(parsed.data), ...unusedKeys(parsed.data)].map(({ path, ...remark }) => ({
        ...remark,
        line: lines.lineOf(path),
        key: toText(path),
        ...defined({ runner: runnerOf(path, parsed.data) }),
      })),
    )
  else findings.push(...parsed.error.issues.map((issue) => fromIssue(issue, value, lines)))
  findings.sort((a, b) => a.line - b.line)
  const isValid = findings.every(({ severity }) => severity === 'warning')
  return { config: isValid ? parsed.data : undefined, findings }
}

function runnerOf([section, index]: Path, { runners }: RunnerConfig): string | undefined {
  return section === 'runners' && typeof index === 'number' ? runners[index]?.name : undefined
}

function failed({ line, message }: { line: number; message: string }): ReadConfig {
  return { config: undefined, findings: [{ severity: 'error', line, key: '', message }] }
}

/** The library adds an extract of the text, which could contain a token. */
function reasonOf(error: TomlError): string {
  const [first = ''] = error.message.split('\n')
  return `the text is not valid TOML: ${first.replace(/^Invalid TOML document:\s*/, '')}`
}

function fromIssue(issue: z.core.$ZodIssue, value: unknown, lines: TomlLines): Finding {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  return {
    severity: 'error',
    line: lines.lineOf(path),
    key: toText(path),
    message: `${String(path.at(-1) ?? 'the file')} ${messageOf(issue, valueAt(value, path))}`,
  }
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a text in quotes',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table',
  record: 'a table',
}

function messageOf(issue: z.core.$ZodIssue, given: unknown): string {
  if (issue.code === 'invalid_type')
    return given === undefined ? 'is missing' : `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}, not ${typeName(given)}`
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.filter((value) => value !== '').join(', ')}`
  if (issue.code === 'too_small') return `must be at least ${issue.minimum}`
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}`
  if (issue.code === 'invalid_union') return `has a value of the wrong type: ${typeName(given)}`
  return issue.message
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Date) return 'a time'
  return TYPE_NAMES[typeof value] ?? typeof value
}

function valueAt(value: unknown, path: Path): unknown {
  let current = value
  for (const part of path) {
    if (Array.isArray(current) && typeof part === 'number') current = current[part]
    else if (isRecord(current)) current = current[part]
    else return undefined
  }
  return current
}

function toText(path: Path): string {
  return path.reduce<string>(
    (before, part) => (typeof part === 'number' ? `${before}[${part}]` : before === '' ? part : `${before}.${part}`),
    '',
  )
}
