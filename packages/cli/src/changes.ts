/** `NAME=VALUE` and `NAME-` words, as `annotate` and `set` take them. */
import { fault } from '@windlass/kit/faults'
import type { AnnotationValue } from '@windlass/protocol'

export interface Changes {
  readonly set: Readonly<Record<string, AnnotationValue>>
  readonly unset: readonly string[]
}

/** `true` and `false` are booleans, digits are numbers, everything else is text. Throws `usage`. */
export function readChanges(words: readonly string[]): Changes {
  const set: Record<string, AnnotationValue> = {}
  const unset: string[] = []
  for (const word of words) {
    const at = word.indexOf('=')
    if (at > 0) set[word.slice(0, at)] = readValue(word.slice(at + 1))
    else if (at < 0 && word.length > 1 && word.endsWith('-')) unset.push(word.slice(0, -1))
    else throw fault('usage', { message: `'${word}' is no change.`, hint: 'Write NAME=VALUE, or NAME- to remove it.' })
  }
  return { set, unset }
}

/** Digits that a number would not give back (`007`, `1e999`) stay text. */
function readValue(text: string): AnnotationValue {
  if (text === 'true' || text === 'false') return text === 'true'
  return text !== '' && String(Number(text)) === text && Number.isFinite(Number(text)) ? Number(text) : text
}
