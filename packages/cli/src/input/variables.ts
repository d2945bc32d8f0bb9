/** Build variables from the command line and from files. */
import { fault } from '@windlass/kit/faults'
import { readInput } from './input-files.ts'

/** Parses `NAME=VALUE` arguments; the last value of a name wins. Throws `variable-invalid`. */
export function parseVariables(args: readonly string[], option: string): Record<string, string> {
  return Object.fromEntries(args.map((arg) => parseVariable(arg, `Write ${option} NAME=VALUE.`)))
}

function parseVariable(arg: string, hint: string): [string, string] {
  const at = arg.indexOf('=')
  // The message omits the text, which may be a secret given without its name.
  if (at < 1) throw fault('variable-invalid', { message: 'Expected a variable in the form NAME=VALUE.', hint })
  return [arg.slice(0, at).trim(), arg.slice(at + 1)]
}

/**
 * Reads a variable file: a JSON or YAML mapping according to its extension, otherwise an env file with one `NAME=VALUE` per line. Blank
 * lines and lines that begin with `#` are ignored, and one pair of quotes around a value is removed. Throws `variable-invalid`.
 */
export async function readVariableFile(path: string): Promise<Record<string, string>> {
  const { name, text } = readInput(path)
  if (/\.(json|ya?ml)$/i.test(name)) return readMapping(name, text)
  const entries: [string, string][] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    const [key, value] = parseVariable(trimmed.replace(/^export\s+/, ''), `See ${name}:${index + 1}.`)
    entries.push([key, unquote(value)])
  }
  return Object.fromEntries(entries)
}

/** Reads the variable sets of a file: a list of mappings is one set per run, anything else is one set. Throws `variable-invalid`. */
export async function readVariableSets(path: string): Promise<Record<string, string>[]> {
  const { name, text } = readInput(path)
  if (!/\.(json|ya?ml)$/i.test(name)) return [await readVariableFile(path)]
  const value = await parseDocument(name, text)
  return Array.isArray(value) ? value.map((item: unknown) => toVariables(name, item)) : [toVariables(name, value)]
}

async function readMapping(name: string, text: string): Promise<Record<string, string>> {
  const value = await parseDocument(name, text)
  if (Array.isArray(value))
    throw notAMapping(name, {
      hint: 'Write NAME: value, one per line. Only `windlass run` on a server accepts a list of variable sets.',
    })
  return toVariables(name, value)
}

async function parseDocument(name: string, text: string): Promise<unknown> {
  const { parse } = await import('yaml')
  try {
    return parse(text)
  } catch (error) {
    throw notAMapping(name, { cause: error })
  }
}

function notAMapping(
  name: string,
  { hint = 'Write NAME: value, one per line.', cause }: { readonly hint?: string; readonly cause?: unknown } = {},
): Error {
  return fault('variable-invalid', { message: `${name} is not a mapping of names to values.`, hint }, cause)
}

function toVariables(name: string, value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notAMapping(name)
  return Object.fromEntries(
    Object.entries(value).map(([key, item]): [string, string] => {
      if (typeof item === 'object' && item !== null) throw notAMapping(name)
      return [key, item === null || item === undefined ? '' : String(item)]
    }),
  )
}

function unquote(value: string): string {
  const quote = value[0]
  return value.length >= 2 && (quote === '"' || quote === "'") && value.endsWith(quote) ? value.slice(1, -1) : value
}

/** Parses secrets: `NAME=VALUE`, or `NAME` with the value from the environment. Throws `variable-invalid`. */
export function parseSecrets(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    args.map((arg) => {
      if (arg.includes('=')) return parseVariable(arg, 'Write -S NAME=VALUE, or -S NAME to read it from the environment.')
      const value = environment[arg]
      if (value !== undefined) return [arg, value]
      throw fault('variable-invalid', {
        message: 'A secret has no value.',
        hint: 'Write -S NAME=VALUE, or set the variable in the environment for -S NAME.',
      })
    }),
  )
}
