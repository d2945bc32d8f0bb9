import { fault } from '@windlass/kit/faults'
import { readInput } from './input-files.ts'

const MAX_TOKEN_CHARS = 16_384

/**
 * Reads an API key or the token of an agent from a file; `-` is standard input. Throws the faults of `readInput`, and `usage` for a file with something else,
 * which the message does not quote.
 */
export function readTokenFile(path: string): string {
  const { name, text } = readInput(path)
  const token = text.trim()
  if (token.length <= MAX_TOKEN_CHARS && /^[\x21-\x7e]+$/.test(token)) return token
  throw fault('usage', { message: `${name} does not contain a key or token.`, hint: 'Write only the key or token to the file.' })
}
