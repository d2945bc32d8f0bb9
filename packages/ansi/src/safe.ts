/**
 * Complete color sequences, which are captured; then other CSI sequences, OSC/DCS/APC strings, other escapes, and control characters except tab.
 * Each alternative also matches an incomplete sequence, so no escape remains that the following text could complete.
 */
const COLOR_OR_UNSAFE =
  // oxlint-disable-next-line no-control-regex
  /(\u001B\[[\d;:]*m)|\u001B\[[0-?]*[ -/]*[@-~]?|\u001B[\]PX^_][^\u0007\u001B]*(?:\u0007|\u001B\\|$)|\u001B[ -/]*[0-~]?|[\u0000-\u0008\u000A-\u001F\u007F-\u009F]/g

/**
 * Makes a line of output safe for a terminal: keeps colors, and removes all other control characters and sequences except tabs.
 * Keeps only the last state of a line that redraws itself with carriage returns.
 */
export function sanitizeLine(line: string): string {
  let end = line.length
  while (line[end - 1] === '\r') end -= 1
  return line.slice(line.lastIndexOf('\r', end - 1) + 1, end).replace(COLOR_OR_UNSAFE, '$1')
}
