/** Addresses, keys, codes and passwords, from options, files, the environment, standard input or a prompt. */
import { readFileSync } from 'node:fs'
import { text as readAll } from 'node:stream/consumers'
import { fault } from '@windlass/kit/faults'
import type { Settings } from '../../config.ts'
import { readInput } from '../../input/input-files.ts'
import { readTokenFile } from '../../input/token-file.ts'

/** Returns the normalized URL of a server. Throws `usage`. */
export function parseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw fault('usage', {
      message: `"${text}" is not the URL of a server.`,
      hint: 'Use a URL such as https://windlass.example.com.',
    })
  if (url.username !== '' || url.password !== '')
    throw fault('usage', {
      message: 'The URL must not contain a user name or password.',
      hint: 'Pass the key with --key-file or on standard input.',
    })
  return url.href.replace(/\/+$/, '')
}

/** Returns the API key from a file, the environment, standard input or a prompt. */
export async function findKey(keyFile: string | undefined, settings: Settings): Promise<string> {
  if (keyFile !== undefined) return readTokenFile(keyFile)
  const hint = 'Pass it with --key-file or WINDLASS_API_KEY.'
  return findSecret({ file: undefined, given: settings.apiKey, question: 'API key', hint })
}

export interface Secret {
  /** Path; `-` is standard input. */
  readonly file: string | undefined
  /** Value from the environment. */
  readonly given: string | undefined
  readonly question: string
  /** Hint if the prompt is canceled. */
  readonly hint: string
}

/** Returns a secret without its final line break, in the order of the fields. Throws `usage`. */
export async function findSecret({ file, given, question, hint }: Secret): Promise<string> {
  if (file === '-') return readFileSync(0, 'utf8')
  if (file !== undefined) return readInput(file).text
  if (given !== undefined) return given
  if (!process.stdin.isTTY) return readAll(process.stdin)
  const { isCancel, password } = await import('@clack/prompts')
  const answer = await password({ message: question })
  if (isCancel(answer)) throw fault('usage', { message: `${question}: no value was given.`, hint })
  return answer
}

/** Asks at a terminal. Throws `usage` without one. */
export async function ask(question: string, option: string): Promise<string> {
  const nothing = fault('usage', { message: `${question}: no value was given.`, hint: `Pass it with ${option}.` })
  if (!process.stdin.isTTY) throw nothing
  const { isCancel, text } = await import('@clack/prompts')
  const answer = await text({ message: question })
  if (isCancel(answer)) throw nothing
  return answer
}
