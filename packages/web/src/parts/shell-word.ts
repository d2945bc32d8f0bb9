/** Command lines that a user can copy into a POSIX shell. */

/** Quotes a word for a shell, if it needs quotes. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/**
 * Returns a command line with its values quoted: sh`windlass get agents ${name}`. A list is several words. An empty list is none, and the space before
 * it goes.
 */
export function sh(texts: TemplateStringsArray, ...values: readonly (string | number | readonly string[])[]): string {
  let line = texts[0] ?? ''
  for (const [index, value] of values.entries()) {
    const words = typeof value === 'object' ? value.map(shellWord).join(' ') : shellWord(String(value))
    line = (words === '' ? line.trimEnd() : line + words) + (texts[index + 1] ?? '')
  }
  return line
}
