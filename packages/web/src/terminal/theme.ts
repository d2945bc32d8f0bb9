/** The colors of the page for xterm, which reads no custom properties. */
import type { ITheme } from '@xterm/xterm'
import { LOOKS_KEY, showStoredLooks } from '../looks/looks.ts'

const NAMES = [
  'black',
  'red',
  'green',
  'yellow',
  'blue',
  'magenta',
  'cyan',
  'white',
  'brightBlack',
  'brightRed',
  'brightGreen',
  'brightYellow',
  'brightBlue',
  'brightMagenta',
  'brightCyan',
  'brightWhite',
] as const

/** Returns the colors that the tokens have now. */
export function readTheme(): ITheme {
  const probe = document.createElement('span')
  probe.hidden = true
  document.body.append(probe)
  const style = getComputedStyle(probe)
  const colorOf = (token: string): string => {
    probe.style.color = `var(--${token})`
    return style.color
  }
  const ansi = Object.fromEntries(NAMES.map((name, index) => [name, colorOf(`ansi-${index}`)]))
  const theme = {
    ...ansi,
    background: colorOf('log-ground'),
    foreground: colorOf('log-text'),
    cursor: colorOf('accent'),
    cursorAccent: colorOf('log-ground'),
    selectionBackground: colorOf('log-marked'),
    selectionForeground: colorOf('log-text'),
    scrollbarSliderBackground: colorOf('line'),
    scrollbarSliderHoverBackground: colorOf('line-strong'),
    scrollbarSliderActiveBackground: colorOf('line-strong'),
  }
  probe.remove()
  return theme
}

/** Calls `change` when the theme changes: by the system, or by the page around or another tab. */
export function watchTheme(change: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', change)
  addEventListener('storage', ({ key, newValue }) => {
    if (key !== LOOKS_KEY) return
    showStoredLooks(newValue)
    change()
  })
}
