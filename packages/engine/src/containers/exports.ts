/**
 * Variables that a step exports. The file has lines `NAME=VALUE`, or `NAME<<END`, the lines of the value and `END`; `--mask` before the name masks
 * the value. It is read from the stopped container, so that even a failed step has its exports and parallel steps do not conflict.
 */
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { ExportedVariable } from '@windlass/plan'
import { extract } from 'tar-stream'
import type { AttemptContext } from '../attempt/context.ts'
import { EXPORT_LINK, EXPORT_PATH } from '../attempt/paths.ts'

export const MAX_EXPORT_FILE_BYTES = 8 * 1024 * 1024
const MAX_EXPORTS = 1000
const MAX_VALUE_CHARS = 1_048_576

export interface Exports {
  readonly variables: readonly ExportedVariable[]
  /** Entries that were rejected, one sentence each. */
  readonly problems: readonly string[]
}

const NONE: Exports = { variables: [], problems: [] }

/** Returns the variables that a step's container exported. Checking costs about 2 ms if there are none. */
export async function readExports({ docker, workspace }: AttemptContext, id: string): Promise<Exports> {
  const [own, link] = await Promise.all([docker.statFile(id, EXPORT_PATH), docker.statFile(id, EXPORT_LINK)])
  const texts: string[] = []
  for (const [stat, path] of [[own, EXPORT_PATH] as const, [link?.linkTarget === '' ? link : undefined, EXPORT_LINK] as const]) {
    if (stat === undefined || stat.size === 0) continue
    if (stat.size > MAX_EXPORT_FILE_BYTES)
      return { variables: [], problems: [`The export file has ${stat.size} bytes; at most ${MAX_EXPORT_FILE_BYTES} are read.`] }
    const archive = await docker.getArchive(id, path)
    if (archive !== undefined) texts.push(await firstFile(archive))
  }
  // A step that replaced or removed the link (`sed -i`, `mv`) must not break it for the others.
  if (link?.linkTarget !== EXPORT_PATH) await workspace.relink()
  return texts.length === 0 ? NONE : parseExports(texts.join('\n'))
}

async function firstFile(archive: Readable): Promise<string> {
  const files = extract()
  archive.pipe(files)
  let text = ''
  for await (const entry of files) {
    const bytes = await buffer(entry)
    if (entry.header.type === 'file') text += bytes.toString('utf8')
  }
  return text
}

/** Parses an export file. The last value of a name wins. */
export function parseExports(text: string): Exports {
  const variables = new Map<string, ExportedVariable>()
  const problems: string[] = []
  const lines = text.split('\n')
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? ''
    if (line.trim() === '' || line.startsWith('#')) continue
    const entry = parseEntry(line, lines, index)
    if (typeof entry === 'string') {
      problems.push(entry)
      continue
    }
    index = entry.last
    if (entry.value.length > MAX_VALUE_CHARS)
      problems.push(`The value of ${entry.name} is longer than ${MAX_VALUE_CHARS} characters and is left out.`)
    else if (variables.size >= MAX_EXPORTS && !variables.has(entry.name))
      problems.push(`${entry.name} is left out: a step exports at most ${MAX_EXPORTS} variables.`)
    else {
      variables.delete(entry.name)
      variables.set(entry.name, { name: entry.name, value: entry.value, secret: entry.secret })
    }
  }
  return { variables: [...variables.values()], problems: problems.slice(0, 20) }
}

interface Entry {
  readonly name: string
  readonly value: string
  readonly secret: boolean
  /** Index of the entry's last line. */
  readonly last: number
}

function parseEntry(line: string, lines: readonly string[], index: number): Entry | string {
  const match = /^(--mask\s+)?(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]{0,199})(=|<<)(.*)$/s.exec(line.replace(/\r$/, ''))
  const [, mask, name = '', sign, rest = ''] = match ?? []
  if (match === null) return `Line ${index + 1} of the export file is not NAME=VALUE and is left out.`
  const secret = mask !== undefined
  if (sign === '=') return { name, value: rest, secret, last: index }
  const end = lines.indexOf(rest, index + 1)
  if (end < 0) return `The value of ${name} has no end: a line "${rest.slice(0, 50)}" is missing in the export file.`
  return { name, value: lines.slice(index + 1, end).join('\n'), secret, last: end }
}
