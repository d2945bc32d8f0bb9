/** Returns the end of a message about an unknown name that names a similar one, if there is one. Empty otherwise. */
export function didYouMean(close: string | undefined): string {
  return close === undefined ? '' : `. Did you mean "${close}"?`
}
