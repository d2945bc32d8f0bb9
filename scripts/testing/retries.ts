/** Tests with a retry, and the reason in the comment above each. */
export interface Retry {
  readonly title: string
  /** Undefined if there is no comment with a reason. */
  readonly reason: string | undefined
}

const RETRY =
  /((?:^[ \t]*\/\/.*\n)*)^[ \t]*(?:test|it)(?:\.[\w.]+(?:\([^\n]*\))?)?\(\s*(['"`])((?:(?!\2).)*)\2,\s*\{[^}]*\bretry:/gm

/** Returns the tests of a source that have a retry. */
export function retriesOf(source: string): Retry[] {
  return [...source.matchAll(RETRY)].map(([, comment = '', , title = '']) => ({ title, reason: reasonOf(comment) }))
}

function reasonOf(comment: string): string | undefined {
  const text = comment
    .split('\n')
    .map((line) => line.replace(/^\s*\/\/\s*/, ''))
    .join(' ')
    .trim()
  return text === '' ? undefined : text
}
