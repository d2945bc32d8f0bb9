/** A status line at the bottom of a terminal. Does nothing if the output is not a terminal. */
import { sanitizeLine } from '@windlass/ansi'
import type { Clock } from '@windlass/kit'
import { formatDuration } from '@windlass/plan'
import { cut } from '../format/columns.ts'
import type { Terminal } from '../printer.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const
const PERIOD_MS = 250
const CLEAR = '\r\u001B[2K'

export interface StatusLine {
  /** Sets the text, shown with the time since then; undefined clears the line. */
  set(text: string | undefined): void
  /** Writes above the line. */
  write(bytes: string | Uint8Array): void
  [Symbol.dispose](): void
}

export function openStatusLine(terminal: Terminal, clock: Clock): StatusLine {
  if (!terminal.isTTY) return { set: () => undefined, write: (bytes) => terminal.write(bytes), [Symbol.dispose]: () => undefined }
  let shown: { text: string; since: number } | undefined
  let given: string | undefined
  let isDrawn = false
  let frame = 0
  const clear = (): void => {
    if (isDrawn) terminal.write(CLEAR)
    isDrawn = false
  }
  const draw = (): void => {
    if (shown === undefined) return
    const mark = FRAMES[frame % FRAMES.length] ?? ''
    const seconds = Math.floor((clock.monotonic() - shown.since) / 1000) * 1000
    const time = seconds === 0 ? '' : `  ${formatDuration(seconds).replace(/\.0 s$/, ' s')}`
    terminal.write(CLEAR + terminal.style.cyan(cut(`${mark} ${shown.text}${time}`, terminal.columns - 1)))
    isDrawn = true
  }
  const timer = setInterval(() => {
    frame += 1
    draw()
  }, PERIOD_MS)
  timer.unref()
  return {
    set(text) {
      if (text === given) return
      given = text
      shown = text === undefined ? undefined : { text: sanitizeLine(text), since: clock.monotonic() }
      if (shown === undefined) clear()
    },
    write(bytes) {
      clear()
      terminal.write(bytes)
    },
    [Symbol.dispose]() {
      clearInterval(timer)
      shown = undefined
      clear()
    },
  }
}
