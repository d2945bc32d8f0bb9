/** Commands for a shell. Names of steps, branches and triggers come from authors of documents, so a command quotes each of them. */
import { shellWord } from '@windlass/plan'

/** Makes a command of a template: sh`windlass get agents ${name}`. A value is one word, which is quoted if it needs quotes. A list is several words, or none. */
export function sh(texts: TemplateStringsArray, ...values: readonly (string | number | readonly string[])[]): string {
  return texts.reduce((text, next, index) => {
    const words = [values[index - 1] ?? []].flat().map((word) => shellWord(String(word)))
    return (words.length === 0 ? text.trimEnd() : text + words.join(' ')) + next
  })
}

/** Returns the command that a hint names between backticks, such as `windlass auth login`; undefined for one that would run more than this command. */
export function commandOf(hint: string): string | undefined {
  return /`((?:windlass|kubectl|helm) [^`;&|<>$()\\\p{Cc}]+)`/u.exec(hint)?.[1]
}
