/** Files that a command line names; `-` is standard input. What was read is kept, so that problems can show the line they are about. */
import { readFileSync, statSync } from 'node:fs'
import { fault } from '@windlass/kit/faults'

const LARGEST_FILE_BYTES = 16 * 1_048_576
const texts = new Map<string, string>()

export interface InputFile {
  /** As problems name it: the path as it was given, or `<stdin>`. */
  readonly name: string
  readonly text: string
}

/** Reads a text file or standard input. Throws `file-not-found`, or `usage` for a folder or a file of more than 16 MiB. */
export function readInput(path: string): InputFile {
  const name = path === '-' ? '<stdin>' : path
  const text = texts.get(name) ?? (path === '-' ? readFileSync(0, 'utf8') : readText(path))
  texts.set(name, text)
  return { name, text }
}

/** Like `readInput`, for a file that may have changed since it was read. */
export function rereadInput(path: string): InputFile {
  texts.delete(path)
  return readInput(path)
}

function readText(path: string): string {
  try {
    const stat = statSync(path)
    if (stat.isDirectory()) throw fault('usage', { message: `${path} is a folder.`, hint: 'Name a file in it.' })
    if (stat.size > LARGEST_FILE_BYTES)
      throw fault('usage', { message: `${path} is larger than 16 MiB.`, hint: 'Name a smaller file.' })
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    const why = 'code' in error && error.code === 'ENOENT' ? 'does not exist' : 'cannot be read'
    throw fault('file-not-found', { message: `${path} ${why}.` }, error)
  }
}

/** The texts that were read so far, by the name that problems use. */
export function sourcesRead(): ReadonlyMap<string, string> {
  return texts
}

/** Reads files anew from now on: a command that watches them sees what has changed. */
export function forgetInputs(): void {
  texts.clear()
}
