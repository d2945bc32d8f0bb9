/** A line of a log as plain text. */

// oxlint-disable-next-line no-control-regex -- escape sequences are made of control characters
const ESCAPES = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)|[@-Z\\-_])/g
// oxlint-disable-next-line no-control-regex -- these are the characters to remove
const CONTROLS = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F]/g

/** Returns the last state of a line without escape sequences and control characters. */
export function visibleText(line: string): string {
  const text = line.replace(/\r+$/, '').replaceAll(ESCAPES, '')
  return text.slice(text.lastIndexOf('\r') + 1).replaceAll(CONTROLS, '')
}
