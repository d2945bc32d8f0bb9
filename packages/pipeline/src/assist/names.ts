/** Names that completion offers: those of the document, and those that its editor knows. */
import { BUILTIN_VARIABLES } from '@windlass/plan'

/** A variable with the level that its value comes from, such as `pipeline`. */
export interface KnownVariable {
  readonly name: string
  readonly level: string
  /** Where it comes from, or what it means. */
  readonly about?: string | undefined
}

/** What the account has. All lists may be empty. */
export interface KnownNames {
  readonly variables?: readonly KnownVariable[]
  readonly contexts?: readonly { readonly name: string; readonly type: string }[]
  readonly runtimes?: readonly string[]
  /** Typed steps: `name` or `name:version`. */
  readonly stepTypes?: readonly string[]
}

const MAX_NAMES = 1_000

/** Returns the names that a text has at a depth below a key, such as the steps. Works on text that does not parse. */
function namesBelow(text: string, key: string): string[] {
  const found = new Set<string>()
  const pattern = new RegExp(String.raw`^([ \t]*)(?:- )?${key}[ \t]*:[ \t]*(?:#.*)?$`)
  const lines = text.split('\n')
  for (const [index, line] of lines.entries()) {
    const match = pattern.exec(line)
    if (match === null) continue
    const outer = match[1]?.length ?? 0
    let inner: number | undefined
    for (let below = index + 1; below < lines.length; below += 1) {
      const next = lines[below] ?? ''
      if (/^\s*(?:#|$)/.test(next)) continue
      const column = next.length - next.trimStart().length
      if (column <= outer) break
      inner ??= column
      const name =
        column === inner ? /^["']?([^"':#{}[\]-][^"':#{}[\]]*)["']?[ \t]*:(?:\s|$)/.exec(next.trimStart())?.[1] : undefined
      if (name !== undefined && found.size < MAX_NAMES) found.add(name.trim())
    }
  }
  return [...found]
}

/** Returns the names of the steps of a document, also of those in groups. */
export function stepNamesOf(text: string): string[] {
  return namesBelow(text, 'steps').filter((name) => !['all', 'any', 'only', 'ignore'].includes(name))
}

/** Returns the stages of a document. */
export function stagesOf(text: string): string[] {
  const inline = inlineStages(text)
  const block = /^[ \t]*stages[ \t]*:[ \t]*(?:#.*)?\n((?:[ \t]*(?:-[^\n]*|#[^\n]*)?\n?)*)/m.exec(text)?.[1]
  const items =
    inline?.split(',') ?? block?.split('\n').flatMap((line) => /^[ \t]*-[ \t]+(.+?)[ \t]*(?: #.*)?$/.exec(line)?.[1] ?? [])
  return [...new Set((items ?? []).map((item) => item.trim().replace(/^(["'])(.*)\1$/, '$2')).filter((item) => item !== ''))]
}

/** Returns the text of a list of stages in brackets. Searches its end once, because a text can open such a list in each of its lines. */
function inlineStages(text: string): string | undefined {
  const open = /^[ \t]*stages[ \t]*:[ \t]*\[/m.exec(text)
  if (open === null) return undefined
  const start = open.index + open[0].length
  const end = text.indexOf(']', start)
  return end < 0 ? undefined : text.slice(start, end)
}

/** Returns the variables that a document can use, each name once: those of the account first, then its own, exported and built-in ones. */
export function variablesOf(text: string, { variables = [] }: KnownNames): KnownVariable[] {
  const own = [...text.matchAll(/^[ \t]*- (?:\{ *)?key: *["']?([A-Za-z_]\w*)/gm)].map(([, name = '']): KnownVariable => ({
    name,
    level: 'pipeline',
    about: 'Variable of the document.',
  }))
  const exported = [...text.matchAll(/\bcf_export[ \t]+["']?([A-Za-z_]\w*)/g)].map(([, name = '']): KnownVariable => ({
    name,
    level: 'export',
    about: 'A step exports it with cf_export.',
  }))
  const builtIn = Object.entries(BUILTIN_VARIABLES).map(([name, about]): KnownVariable => ({ name, level: 'system', about }))
  const byName = new Map<string, KnownVariable>()
  for (const one of [...variables, ...own, ...exported, ...builtIn]) {
    const known = byName.get(one.name)
    if (known === undefined) byName.set(one.name, one)
    else if (known.about === undefined) byName.set(one.name, { ...known, about: one.about })
  }
  return [...byName.values()]
}
