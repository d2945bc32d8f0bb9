/** The token of the runtime, read from a file that can change while the app-proxy runs. */
import { readFileSync } from 'node:fs'
import { attempt, fault, parseToken, ticks, type Clock, type Logger } from '@windlass/kit'

/** How often the file is read. Kubernetes replaces mounted Secrets by links, which no file system event reports reliably. Milliseconds. */
const LOOK_MS = 2_000

/** Reads a token. Throws `config-invalid` if the file cannot be read or has none. */
export function readRuntimeToken(file: string): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw fault('config-invalid', { message: `The file with the token of the runtime cannot be read: ${file}.` }, error)
  }
  // Another text would become the key of all Git tokens.
  if (parseToken(text) === undefined)
    throw fault('config-invalid', {
      message: `The file ${file} does not have a token.`,
      hint: 'Create a token with `windlass gitops token create RUNTIME`, and write only it to the file.',
    })
  return text
}

export interface Watching {
  readonly file: string
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Calls `look` with the token of the file every 2 s, until the signal is aborted. `look` is called again with the same token, so that what failed is repeated. A file
 * that cannot be read is logged.
 */
export async function watchRuntimeToken(
  { file, clock, log, signal }: Watching,
  look: (token: string) => Promise<void>,
): Promise<void> {
  for await (const _ of ticks(LOOK_MS, { clock, signal }))
    await attempt(log, 'token of the runtime', () => look(readRuntimeToken(file)))
}
