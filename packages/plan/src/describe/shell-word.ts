/**
 * Quotes a word for a shell, if it needs quotes, for commands that are shown to be copied. Names of steps, branches and triggers come from authors of documents.
 * Control characters are escaped, because they could end the paste and begin another command.
 */
export function shellWord(word: string): string {
  if (/\p{Cc}/u.test(word)) return `$'${word.replaceAll(/[\\'\p{Cc}]/gu, escaped)}'`
  return /^[\w@%+=:,./-][\w@%+=:,./#-]*$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

function escaped(character: string): string {
  if (character === '\\' || character === "'") return `\\${character}`
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
}
