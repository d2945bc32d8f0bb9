/** Text that is pasted into a terminal. */

/** Characters with an effect in a terminal, except line ends and tabs. One of them could end a bracketed paste early. */
// oxlint-disable-next-line no-control-regex -- the pattern is about control characters
const CONTROLS = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/g

export interface Paste {
  readonly text: string
  /** Lines that a shell without bracketed paste would run at once. */
  readonly lines: number
}

/** Returns what is pasted for a text of the clipboard. */
export function toPaste(clipboard: string): Paste {
  const text = clipboard.replaceAll(CONTROLS, '')
  return { text, lines: text.split(/\r\n|\r|\n/).length }
}
