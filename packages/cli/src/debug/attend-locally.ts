/** A step of a local build that the debugger holds, and this terminal: a shell in its container, then what is to become of it. */
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline/promises'
import type { HeldStep } from '@windlass/local'
import type { Terminal } from '../printer.ts'
import { openKeyboard, watchSize } from './keyboard.ts'

const ANSWERS = { c: 'continue', r: 'retry', f: 'fail' } as const

/** Resolves when the step goes on, or ends otherwise. One at a time: there is one terminal. */
export async function attendLocally(held: HeldStep, terminal: Terminal): Promise<void> {
  const over = new AbortController()
  void held.released.then(() => over.abort())
  while (!over.signal.aborted) {
    terminal.write(
      `${terminal.style.yellow(`‖ ${held.step} is held (${held.phase}).`)} \`exit\` lets it go on, Ctrl-P Ctrl-Q asks what to do.\n`,
    )
    if (!(await sit(held, terminal, over.signal))) return
    const action = await askAction(over.signal)
    if (action === undefined) continue
    held.resume(action)
    await held.released
  }
}

/** False when the shell has ended: the step goes on by itself then. */
async function sit(held: HeldStep, terminal: Terminal, signal: AbortSignal): Promise<boolean> {
  const { columns, rows } = process.stdout.isTTY ? process.stdout : { columns: 80, rows: 24 }
  const shell = await held.open(randomBytes(12).toString('hex'), {
    columns,
    rows,
    kind: process.stdout.isTTY ? 'xterm-256color' : 'dumb',
  })
  const left = new AbortController()
  using keyboard = openKeyboard(process.stdin)
  watchSize(process.stdout, AbortSignal.any([signal, left.signal]), (size) => void shell.resize(size))
  const typing = (async () => {
    for await (const keys of keyboard.keys) shell.write(keys)
    if (keyboard.hasLeft()) left.abort()
  })()
  typing.catch(() => undefined)
  const leaving = new Promise<'left'>((resolve) => left.signal.addEventListener('abort', () => resolve('left'), { once: true }))
  const pieces = shell.output[Symbol.asyncIterator]()
  for (;;) {
    const next = await Promise.race([pieces.next(), leaving])
    if (next === 'left') {
      terminal.write('\r\n')
      return true
    }
    if (next.done === true) return false
    terminal.write(next.value)
  }
}

/** Undefined: back to a terminal. */
async function askAction(signal: AbortSignal): Promise<(typeof ANSWERS)[keyof typeof ANSWERS] | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = (await lines.question('[c]ontinue, [r]etry, [f]ail, or back to a [t]erminal? ', { signal }))
      .trim()
      .toLowerCase()
    return answer === 'c' || answer === 'r' || answer === 'f' ? ANSWERS[answer] : undefined
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  } finally {
    lines.close()
  }
}
