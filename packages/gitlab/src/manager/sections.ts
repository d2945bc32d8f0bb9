/** The marks of sections in a trace, by which GitLab folds the log. */

const CLEAR = '\r\u001B[0K'

/** `at` is in epoch milliseconds. */
export function sectionStart(name: string, at: number): string {
  return `section_start:${Math.floor(at / 1_000)}:${name}${CLEAR}`
}

export function sectionEnd(name: string, at: number): string {
  return `section_end:${Math.floor(at / 1_000)}:${name}${CLEAR}`
}

/** Returns the title of a section. */
export function titled(title: string): string {
  return `\u001B[36;1m${title}\u001B[0;m\n`
}
