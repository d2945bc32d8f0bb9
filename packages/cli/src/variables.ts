/** Variables of a build from the command line and from files. */
import { fault } from '@windlass/kit/faults'
import { readInput } from './input-files.ts'

/** Variables of `NAME=VALUE` words; the last one of a name wins. Throws `variable-invalid`. */
export function parseVariables(words: readonly string[], option: string): Record<string, string> {
  return Object.fromEntries(words.map((word) => parseVariable(word, `Write ${option} NAME=VALUE.`)))
}

function parseVariable(word: string, hint: string): [string, string] {
  const at = word.indexOf('=')
  // The value is left out of the message: it may be a secret whose name was forgotten.
  if (at < 1) throw fault('variable-invalid', { message: 'A variable is not of the form NAME=VALUE.', hint })
  return [word.slice(0, at).trim(), word.slice(at + 1)]
}

/**
 * Variables of a file: a JSON or YAML mapping when the name ends so, else one `NAME=VALUE` per line as in an env file (blank lines and
 * lines that begin with `#` are left out, one pair of quotes around a value is taken off). Throws `variable-invalid`.
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

/** The sets of variables of a file: a list of mappings is one for each run, anything else is one alone. Throws `variable-invalid`. */
export async function readVariableSets(path: string): Promise<Record<string, string>[]> {
  const { name, text } = readInput(path)
  if (!/\.(json|ya?ml)$/i.test(name)) return [await readVariableFile(path)]
  const value = await parseDocument(name, text)
  return Array.isArray(value) ? value.map((item: unknown) => toVariables(name, item)) : [toVariables(name, value)]
}

async function readMapping(name: string, text: string): Promise<Record<string, string>> {
  return toVariables(name, await parseDocument(name, text))
}

async function parseDocument(name: string, text: string): Promise<unknown> {
  const { parse } = await import('yaml')
  try {
    return parse(text)
  } catch (error) {
    throw noMapping(name, error)
  }
}

function noMapping(name: string, cause?: unknown): Error {
  return fault(
    'variable-invalid',
    { message: `${name} is not a mapping of names to values.`, hint: 'Write NAME: value, one per line.' },
    cause,
  )
}

function toVariables(name: string, value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw noMapping(name)
  return Object.fromEntries(
    Object.entries(value).map(([key, item]): [string, string] => {
      if (typeof item === 'object' && item !== null) throw noMapping(name)
      return [key, item === null || item === undefined ? '' : String(item)]
    }),
  )
}

function unquote(value: string): string {
  const quote = value[0]
  return value.length >= 2 && (quote === '"' || quote === "'") && value.endsWith(quote) ? value.slice(1, -1) : value
}

/** Secrets of `NAME=VALUE` words, or of `NAME` words whose values stand in the environment. Throws `variable-invalid`. */
export function parseSecrets(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    words.map((word) => {
      if (word.includes('=')) return parseVariable(word, 'Write -S NAME=VALUE, or -S NAME to take it from the environment.')
      const value = environment[word]
      if (value !== undefined) return [word, value]
      throw fault('variable-invalid', {
        message: 'A secret has no value.',
        hint: 'Write -S NAME=VALUE, or -S NAME for a variable that the environment has.',
      })
    }),
  )
}
