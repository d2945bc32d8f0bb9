import type { Diagnostic } from '@windlass/pipeline'

/** Returns the first error with its place and the number of other errors, for people. Undefined if there are no errors. */
export function summarizeErrors(
  problems: readonly Diagnostic[],
): { readonly message: string; readonly hint: string } | undefined {
  const [first, ...more] = problems.filter(({ severity }) => severity === 'error')
  if (first === undefined) return undefined
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`
  return { message: `${first.file}:${first.line}:${first.column} ${first.message}${others}`, hint: first.hint }
}
