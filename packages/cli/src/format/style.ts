/** Colours, or none: each function returns its text, dressed for the terminal it is meant for. */
export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

const CODES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] } as const

const plain = (text: string): string => text
const NONE: Style = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain, cyan: plain }

function paint([on, off]: readonly [number, number]): (text: string) => string {
  return (text) => (text === '' ? '' : `\u001B[${on}m${text}\u001B[${off}m`)
}

const COLOURED: Style = {
  bold: paint(CODES.bold),
  dim: paint(CODES.dim),
  red: paint(CODES.red),
  green: paint(CODES.green),
  yellow: paint(CODES.yellow),
  cyan: paint(CODES.cyan),
}

export function styleFor(hasColour: boolean): Style {
  return hasColour ? COLOURED : NONE
}

/** The colour of a build or step status: green ended well, red did not, yellow waits, cyan is at work. */
export function paintStatus(style: Style, status: string, text: string = status): string {
  switch (status) {
    case 'success':
    case 'online':
      return style.green(text)
    case 'error':
    case 'terminated':
    case 'terminating':
    case 'offline':
      return style.red(text)
    case 'running':
      return style.cyan(text)
    case 'skipped':
      return style.dim(text)
    default:
      return style.yellow(text)
  }
}

/** One character that stands for a status. */
export function markOf(status: string): string {
  switch (status) {
    case 'success':
      return '✔'
    case 'error':
      return '✖'
    case 'terminated':
      return '■'
    case 'skipped':
      return '–'
    case 'running':
      return '▶'
    default:
      return '·'
  }
}
