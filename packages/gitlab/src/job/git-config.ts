/** The text of configuration files of git, as `git config` writes it (git-config(1), "Syntax"). */

export interface ConfigEntry {
  /** Section, and its subsection if it has one. */
  readonly section: readonly [name: string, subsection?: string]
  readonly key: string
  readonly value: string
}

/** Characters of values, and their form in quotes. */
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n', '\t': '\\t', '\b': '\\b' }

/** Returns the text of the entries in their order. Subsections must not have line feeds. */
export function configText(entries: readonly ConfigEntry[]): string {
  return entries.map(({ section, key, value }) => `[${sectionOf(section)}]\n\t${key} = ${valueOf(value)}\n`).join('')
}

function sectionOf([name, subsection]: ConfigEntry['section']): string {
  return subsection === undefined ? name : `${name} "${escaped(subsection)}"`
}

/** Quotes a value that is not plain: spaces at its ends and comments would be lost. */
function valueOf(value: string): string {
  return /^[\w@%+=:,./*-]+$/.test(value) ? value : `"${escaped(value)}"`
}

function escaped(text: string): string {
  return text.replaceAll(/[\\"\n\t\b]/g, (character) => ESCAPES[character] ?? character)
}
