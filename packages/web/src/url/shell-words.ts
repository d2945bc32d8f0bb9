/** Words of a command line. */

/** Quotes a word for a POSIX shell, if it needs it. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
