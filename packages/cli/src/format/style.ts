import { styleText } from 'node:util'

type Color = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Text styles for a terminal; without color each function returns its text unchanged. */
export type Style = Readonly<Record<Color, (text: string) => string>>

/** The caller decides for each stream whether it has color, because output and errors can go to different places. */
export function styleFor(hasColor: boolean): Style {
  const paint = (color: Color) => (text: string) =>
    hasColor && text !== '' ? styleText(color, text, { validateStream: false }) : text
  return {
    bold: paint('bold'),
    dim: paint('dim'),
    red: paint('red'),
    green: paint('green'),
    yellow: paint('yellow'),
    cyan: paint('cyan'),
  }
}

/** Colors a build, step or agent status: green for success, red for failure, cyan for running, dim for skipped, yellow otherwise. */
export function paintStatus(style: Style, status: string, text: string = status): string {
  switch (status) {
    case 'success':
    case 'succeeded':
    case 'online':
    case 'healthy':
    case 'synced':
      return style.green(text)
    case 'error':
    case 'failed':
    case 'terminated':
    case 'terminating':
    case 'offline':
    case 'degraded':
    case 'missing':
      return style.red(text)
    case 'running':
    case 'progressing':
      return style.cyan(text)
    case 'skipped':
      return style.dim(text)
    default:
      return style.yellow(text)
  }
}

/** Returns the symbol of a status. */
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
