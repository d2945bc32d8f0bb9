/** The token of a tunnel, read from a file that can change while the client runs. */
import { readFileSync } from 'node:fs'
import { fault, ticks, type Clock, type Logger } from '@windlass/kit'

/** How often the file is read. Kubernetes replaces mounted Secrets by links, which no file system event reports reliably. Milliseconds. */
const LOOK_MS = 2_000

/** Reads a token. Throws `config-invalid` if the file cannot be read or has none. */
export function readToken(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw fault('config-invalid', { message: `The file with the token cannot be read: ${file}.` }, error)
  }
  if (text === '' || /\s/.test(text))
    throw fault('config-invalid', {
      message: `The file ${file} does not have one token.`,
      hint: 'Create a token with `windlass gitops token create RUNTIME`, and write only it to the file.',
    })
  return text
}

export interface Watching {
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Calls `onChange` for each token of the file that is not the last one, until the signal is aborted. The first one is known already. A file that is not readable
 * keeps the last token.
 */
export async function watchToken(
  { file, token: known }: { readonly file: string; readonly token: string },
  { clock, log, signal }: Watching,
  onChange: (token: string) => void,
): Promise<void> {
  let last = known
  let isReadable = true
  for await (const _ of ticks(LOOK_MS, { clock, signal })) {
    try {
      const token = readToken(file)
      if (token !== last) onChange(token)
      last = token
      isReadable = true
    } catch (error) {
      if (isReadable) log.warn({ err: error }, 'the token cannot be read again; the last one is used')
      isReadable = false
    }
  }
}
