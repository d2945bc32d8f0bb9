/** Changes the text of a configuration. Comments, and the form of what does not change, stay. */
import { fault } from '@windlass/kit'
import { isDeepStrictEqual } from 'node:util'
import { parse, stringify, TomlDate, type TomlTable, type TomlValue } from 'smol-toml'
import { tomlLines, type TomlLines } from './keys/toml-lines.ts'

/** Values of keys of a runner. Undefined removes a key. */
export type RunnerKeys = Readonly<Record<string, string | number | boolean | Date | undefined>>

/** Returns the text with one more runner at its end. */
export function addRunner(text: string, runner: TomlTable): string {
  const before = text.trimEnd()
  const block = stringify({ runners: [runner] }).trim()
  return checked(
    before === '' ? `${block}\n` : `${before}\n\n${block}\n`,
    change(text, (runners) => [...runners, runner]),
  )
}

/** Returns the text with other values of keys of one runner, by its position. */
export function setRunnerKeys(text: string, index: number, keys: RunnerKeys): string {
  const wanted = change(text, (runners) => runners.map((runner, n) => (n === index ? withKeys(runner, keys) : runner)))
  const lines = text.split('\n')
  const places = tomlLines(text)
  const { start, ownEnd } = extentOf(places, index, lines.length)
  const added: string[] = []
  for (const [key, value] of Object.entries(keys)) {
    const at = places.lineOf(['runners', index, key]) - 1
    const isThere = at > start && at < ownEnd
    const line = value === undefined ? undefined : `  ${stringify({ [key]: value }).trim()}`
    if (isThere) lines[at] = line === undefined ? REMOVED : line
    else if (line !== undefined) added.push(line)
  }
  lines.splice(start + 1, 0, ...added)
  return checked(lines.filter((line) => line !== REMOVED).join('\n'), wanted)
}

/** Returns the text without one runner, by its position. */
export function removeRunner(text: string, index: number): string {
  const wanted = change(text, (runners) => runners.toSpliced(index, 1))
  const lines = text.split('\n')
  const { start, end } = extentOf(tomlLines(text), index, lines.length)
  lines.splice(start, end - start)
  return checked(`${lines.join('\n').trimEnd()}\n`, wanted)
}

/** Marks a line that goes. Not a line of any text, because it contains a line break. */
const REMOVED = '\n'

interface Extent {
  /** Line of `[[runners]]`. */
  readonly start: number
  /** Line behind its own keys, where the first table below it begins. */
  readonly ownEnd: number
  /** Line behind it and the tables below it. */
  readonly end: number
}

/** An extent that is empty if the runner has no header of its own, such as in `runners = [{}]`. */
function extentOf({ headers }: TomlLines, index: number, count: number): Extent {
  const at = headers.findIndex(({ path }) => path.length === 2 && path[0] === 'runners' && path[1] === index)
  const start = headers[at]?.line
  if (start === undefined) return { start: 0, ownEnd: 0, end: 0 }
  const after = headers.slice(at + 1)
  const end = after.find(({ path }) => path[0] !== 'runners' || path[1] !== index)?.line ?? count
  return { start, ownEnd: after[0]?.line ?? count, end }
}

type Runners = readonly TomlValue[]

/** Returns the values that the text has to have after the change. */
function change(text: string, edit: (runners: Runners) => TomlValue[]): TomlTable {
  const before = parse(text)
  const runners = Array.isArray(before['runners']) ? before['runners'] : []
  const after = edit(runners)
  return { ...before, ...((after.length > 0 || 'runners' in before) && { runners: after }) }
}

function isTable(value: TomlValue | undefined): value is TomlTable {
  return typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date)
}

function withKeys(runner: TomlValue, keys: RunnerKeys): TomlValue {
  if (!isTable(runner)) return runner
  const changed: TomlTable = { ...runner }
  for (const [key, value] of Object.entries(keys)) {
    if (value === undefined) delete changed[key]
    else changed[key] = value instanceof Date ? new TomlDate(value) : value
  }
  return changed
}

/** Returns the edited text if it means what it has to mean. Otherwise writes all values anew, without comments. */
function checked(text: string, wanted: TomlTable): string {
  if (hasMeaning(text, wanted)) return text
  const whole = `${stringify(wanted).trim()}\n`
  if (hasMeaning(whole, wanted)) return whole
  throw fault('config-invalid', {
    message: 'The file cannot be changed without a loss.',
    hint: 'Write the keys into [[runners]] by hand.',
  })
}

function hasMeaning(text: string, wanted: TomlTable): boolean {
  try {
    const { runners = [], ...rest } = parse(text)
    const { runners: wantedRunners = [], ...wantedRest } = wanted
    return isDeepStrictEqual(plain([runners, rest]), plain([wantedRunners, wantedRest]))
  } catch {
    return false
  }
}

/** Without the classes of the library. Times become text. */
function plain(value: unknown): unknown {
  const copy: unknown = JSON.parse(JSON.stringify(value))
  return copy
}
