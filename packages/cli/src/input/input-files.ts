/** Files named on the command line; `-` is standard input. Their texts are kept, so that problems can quote the source line. */
import { readFileSync, statSync } from 'node:fs'
import { fault } from '@windlass/kit/faults'
import { hasCode } from '@windlass/kit/system-error'

const LARGEST_FILE_BYTES = 16 * 1_048_576
const texts = new Map<string, string>()

export interface InputFile {
  /** Name used in problems: the path as given, or `<stdin>`. */
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

/** Like `readInput`, but reads the file again. */
export function rereadInput(path: string): InputFile {
  texts.delete(path)
  return readInput(path)
}

function readText(path: string): string {
  try {
    const stat = statSync(path)
    if (stat.isDirectory()) throw fault('usage', { message: `${path} is a folder.`, hint: 'Name a file within it.' })
    if (stat.size > LARGEST_FILE_BYTES)
      throw fault('usage', { message: `${path} is larger than 16 MiB.`, hint: 'Name a smaller file.' })
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    const why = hasCode(error, 'ENOENT') ? 'does not exist' : 'cannot be read'
    throw fault('file-not-found', { message: `${path} ${why}.` }, error)
  }
}

/** Returns the texts read so far, by the name used in problems. */
export function sourcesRead(): ReadonlyMap<string, string> {
  return texts
}

/** Clears the cache, so that a watching command sees changes. */
export function forgetInputs(): void {
  texts.clear()
}
