/** The `NAME=VALUE` and `NAME-` arguments of `annotate` and `set`. */
import { fault } from '@windlass/kit/faults'
import type { AnnotationValue } from '@windlass/protocol'

export interface Changes {
  readonly set: Readonly<Record<string, AnnotationValue>>
  readonly unset: readonly string[]
}

/** Parses changes: `true` and `false` are booleans, digits are numbers, everything else is text. Throws `usage`. */
export function readChanges(args: readonly string[]): Changes {
  const set: Record<string, AnnotationValue> = {}
  const unset: string[] = []
  for (const arg of args) {
    const at = arg.indexOf('=')
    if (at > 0) set[arg.slice(0, at)] = readValue(arg.slice(at + 1))
    else if (at < 0 && arg.length > 1 && arg.endsWith('-')) unset.push(arg.slice(0, -1))
    else throw fault('usage', { message: `"${arg}" is not a change.`, hint: 'Write NAME=VALUE, or NAME- to remove it.' })
  }
  return { set, unset }
}

/** Text that a number would not print back unchanged (`007`, `1e999`) stays text. */
function readValue(text: string): AnnotationValue {
  if (text === 'true' || text === 'false') return text === 'true'
  return text !== '' && String(Number(text)) === text && Number.isFinite(Number(text)) ? Number(text) : text
}
