/** Words and commands for a shell. Names of steps, branches and triggers come from authors of documents, so a command quotes each of them. */

/** Quotes a word for a shell, if it needs quotes. Control characters are escaped, because they could end the paste and begin another command. */
export function shellWord(word: string): string {
  if (/\p{Cc}/u.test(word)) return `$'${word.replaceAll(/[\\'\p{Cc}]/gu, escaped)}'`
  return /^[\w@%+=:,./-][\w@%+=:,./#-]*$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

function escaped(character: string): string {
  if (character === '\\' || character === "'") return `\\${character}`
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
}

/** Makes a command of a template. A value is one word, which is quoted if it needs quotes. A list is several words, or none. */
export function command(texts: TemplateStringsArray, ...values: readonly (string | number | readonly string[])[]): string {
  return texts.reduce((text, next, index) => {
    const words = [values[index - 1] ?? []].flat().map((word) => shellWord(String(word)))
    return (words.length === 0 ? text.trimEnd() : text + words.join(' ')) + next
  })
}

/** Returns the command that a hint names between backticks, such as `windlass auth login`; undefined for one that would run more than this command. */
export function commandOf(hint: string): string | undefined {
  return /`((?:windlass|kubectl|helm) [^`;&|<>$()\\\p{Cc}]+)`/u.exec(hint)?.[1]
}
