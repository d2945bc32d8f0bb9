/** What the run dialog asks for: its form, the body of the call, and the command that does the same. */
import type { BuildInput } from '@windlass/protocol'
import { quoteWord } from '../url/shell-words.ts'

export interface RunForm {
  readonly pipeline: string
  readonly branch: string
  /** Name of the trigger to simulate. */
  readonly trigger: string
  /** Variables, one `NAME=value` on each line. */
  readonly variables: string
}

/** Returns the variables of a text with one `NAME=value` on each line, or the number of the first line that is none, from 1. */
export function readVariables(text: string): Readonly<Record<string, string>> | number {
  const lines = text.split('\n').map((line) => line.trimStart())
  const wrong = lines.findIndex((line) => line !== '' && !/^[A-Za-z_]\w*=/.test(line))
  if (wrong !== -1) return wrong + 1
  const pairs = lines
    .filter((line) => line !== '')
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])
  return Object.fromEntries(pairs) as Record<string, string>
}

/** Returns the body of `POST /v1/builds`. */
export function toBuildInput(form: RunForm, variables: Readonly<Record<string, string>>): BuildInput {
  const { pipeline, branch, trigger } = form
  return { pipeline, variables, ...(branch !== '' && { branch }), ...(trigger !== '' && { trigger }) }
}

/** Returns the command line that starts the same build. */
export function toRunCommand(form: RunForm, variables: Readonly<Record<string, string>>): string {
  const { pipeline, branch, trigger } = form
  const words = [
    'windlass',
    'run',
    pipeline,
    ...(branch === '' ? [] : ['--branch', branch]),
    ...(trigger === '' ? [] : ['--trigger', trigger]),
    ...Object.entries(variables).flatMap(([name, value]) => ['-v', `${name}=${value}`]),
  ]
  return words.map(quoteWord).join(' ')
}
