/** One line at the bottom of a terminal that says what is going on now. Nothing where the output is no terminal. */
import type { Clock } from '@windlass/kit'
import { formatDuration } from '@windlass/plan'
import { cut } from '../format/columns.ts'
import type { Terminal } from '../printer.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const
const PERIOD_MS = 250
const CLEAR = '\r\u001B[2K'

export interface StatusLine {
  /** What to say, and since when (monotonic milliseconds); undefined says nothing. */
  set(text: string | undefined): void
  /** Writes above the line. */
  write(bytes: string | Uint8Array): void
  [Symbol.dispose](): void
}

export function openStatusLine(terminal: Terminal, clock: Clock): StatusLine {
  if (!terminal.isTTY) return { set: () => undefined, write: (bytes) => terminal.write(bytes), [Symbol.dispose]: () => undefined }
  let said: { text: string; since: number } | undefined
  let isDrawn = false
  let frame = 0
  const clear = (): void => {
    if (isDrawn) terminal.write(CLEAR)
    isDrawn = false
  }
  const draw = (): void => {
    if (said === undefined) return
    const mark = FRAMES[frame % FRAMES.length] ?? ''
    const seconds = Math.floor((clock.monotonic() - said.since) / 1000) * 1000
    const time = seconds === 0 ? '' : `  ${formatDuration(seconds).replace(/\.0 s$/, ' s')}`
    terminal.write(CLEAR + terminal.style.cyan(cut(`${mark} ${said.text}${time}`, terminal.columns - 1)))
    isDrawn = true
  }
  const timer = setInterval(() => {
    frame += 1
    draw()
  }, PERIOD_MS)
  timer.unref()
  return {
    set(text) {
      if (text === said?.text) return
      said = text === undefined ? undefined : { text, since: clock.monotonic() }
      if (said === undefined) clear()
    },
    write(bytes) {
      clear()
      terminal.write(bytes)
    },
    [Symbol.dispose]() {
      clearInterval(timer)
      said = undefined
      clear()
    },
  }
}
