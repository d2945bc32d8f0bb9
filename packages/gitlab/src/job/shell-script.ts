/**
 * Scripts for the shells of a job: any POSIX shell, because an image may have only that of busybox. The text is generated, and every value in it is quoted.
 */

/** Quotes a word. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** Names that a shell can export. */
const NAME = /^[A-Za-z_]\w*$/

/** Returns true if a shell can export a variable of this name. */
export function isShellName(name: string): boolean {
  return NAME.test(name)
}

const COLORS = { green: '32;1', yellow: '33;1', red: '31;1', cyan: '36;1' } as const
export type Color = keyof typeof COLORS

/** Collects the lines of a script. */
export class ShellScript {
  readonly #lines: string[] = []

  /** Adds a line as it is. */
  raw(line: string): this {
    this.#lines.push(line)
    return this
  }

  /** Runs a command. Each word is quoted. */
  run(...words: readonly string[]): this {
    return this.raw(words.map(quoted).join(' '))
  }

  /** Exports a variable. */
  set(name: string, value: string): this {
    return this.raw(`export ${name}=${quoted(value)}`)
  }

  /** Prints a line, in a color if one is given. */
  say(text: string, color?: Color): this {
    if (color === undefined) return this.raw(`printf '%s\\n' ${quoted(text)}`)
    return this.raw(`printf '\\033[${COLORS[color]}m%s\\033[0;m\\n' ${quoted(text)}`)
  }

  /** Adds lines that run if the condition holds, and others if not. */
  when(condition: string, then: (script: ShellScript) => void, otherwise?: (script: ShellScript) => void): this {
    const [yes, no] = [new ShellScript(), new ShellScript()]
    then(yes)
    otherwise?.(no)
    this.raw(`if ${condition}; then`).add(yes)
    if (no.#lines.length > 0) this.raw('else').add(no)
    return this.raw('fi')
  }

  /** Adds the lines of another script. A block without lines would be an error. */
  add(script: ShellScript): this {
    this.#lines.push(...(script.#lines.length === 0 ? [':'] : script.#lines))
    return this
  }

  text(): string {
    return this.#lines.map((line) => `${line}\n`).join('')
  }
}
