/** Writes each resource as a file for `apply`. */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fault } from '@windlass/kit/faults'
import { writePrivateFile } from '@windlass/kit/private-file'
import { hasCode } from '@windlass/kit/system-error'
import type { Resource } from '../judge/verdict.ts'
import type { Receipt, Target, WriteOptions } from './target.ts'

/** File systems limit names to 255 bytes. */
const LONGEST_NAME = 200

/** Opens a folder, which is created with the first file. */
export function openFolderTarget(folder: string, options: WriteOptions): Target {
  return {
    surroundings: async () => ({}),
    write: async (resource) => writeResource(join(folder, fileOf(resource)), resource, options),
  }
}

/** Returns the path in the folder: `pipelines/demo%2Fapp.yaml`. Different names have different files, also where case does not count. */
export function fileOf({ kind, name }: Pick<Resource, 'kind' | 'name'>): string {
  const encoded = encodeURIComponent(name)
  const isPlain = encoded.length <= LONGEST_NAME && name === name.toLowerCase()
  const unique = isPlain ? '' : `-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
  return join(`${kind}s`, `${encoded.slice(0, LONGEST_NAME)}${unique}.yaml`)
}

function writeResource(file: string, { text }: Resource, { dryRun, overwrite }: WriteOptions): Receipt {
  const before = readBefore(file)
  if (before === text) return { done: 'unchanged', remarks: [] }
  if (before !== undefined && !overwrite)
    throw fault('conflict', { message: `${file} has other content.`, hint: 'Compare the two, or replace it with --overwrite.' })
  if (!dryRun) replaceFile(file, text)
  return { done: before === undefined ? 'created' : 'configured', remarks: [] }
}

function readBefore(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw cannotWrite(file, error)
  }
}

/** Creates the folder of the file, if necessary, and replaces the file. Other users cannot read it, because documents may contain secrets. */
function replaceFile(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true })
    writePrivateFile(file, text, { replace: true })
  } catch (error) {
    throw cannotWrite(file, error)
  }
}

function cannotWrite(file: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error)
  return fault(
    'usage',
    { message: `${file} cannot be written: ${reason}`, hint: 'Name a folder that you may write to with --output-dir.' },
    error,
  )
}
