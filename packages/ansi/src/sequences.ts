/** Patterns for escape sequences (ECMA-48) and control characters in a line of output. */

/** SGR sequences, which set colors and styles. Captures the parameters. */
// oxlint-disable-next-line no-control-regex
export const COLORS = /\u001B\[([\d;:]*)m/g

/** Control characters other than tab and line feed. */
// oxlint-disable-next-line no-control-regex
export const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/

/**
 * CSI sequences with their parameters and final character; OSC, DCS, SOS, PM and APC strings; other escapes; and other control characters except tab.
 * Incomplete sequences end with the line.
 */
export const SEQUENCE =
  // oxlint-disable-next-line no-control-regex
  /(?:\u001B\[|\u009B)([0-?]*)[ -/]*([@-~]?)|\u001B[\]PX^_][^\u0007\u001B]*(?:\u0007|\u001B\\|$|(?=\u001B))|\u001B[ -/]*[0-~]?|([\u0000-\u0008\u000B-\u001F\u007F-\u009F])/g
