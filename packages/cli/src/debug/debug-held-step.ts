/** Debugging of a local build: opens a shell in a held step, then asks how to continue. */
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline/promises'
import type { HeldStep } from '@windlass/local'
import type { Terminal } from '../printer.ts'
import { openKeyboard, watchSize } from './keyboard.ts'

const ANSWERS = { c: 'continue', r: 'retry', f: 'fail' } as const

/** Resolves when the step is no longer held. Callers must handle one step at a time, because there is one terminal. */
export async function debugHeldStep(held: HeldStep, terminal: Terminal): Promise<void> {
  const released = new AbortController()
  void held.released.then(() => released.abort())
  while (!released.signal.aborted) {
    terminal.write(
      `${terminal.style.yellow(`‖ ${held.step} is held (${held.phase}).`)} \`exit\` continues it, Ctrl-P Ctrl-Q leaves the shell and offers other actions.\n`,
    )
    if (!(await openShell(held, terminal, released.signal))) return
    const action = await askAction(released.signal)
    if (action === undefined) continue
    held.resume(action)
    await held.released
  }
}

/** Opens a shell until the user leaves it. Resolves to false if the shell ended, which continues the step. */
async function openShell(held: HeldStep, terminal: Terminal, signal: AbortSignal): Promise<boolean> {
  const { columns, rows } = process.stdout.isTTY ? process.stdout : { columns: 80, rows: 24 }
  const shell = await held.open(randomBytes(12).toString('hex'), {
    columns,
    rows,
    kind: process.stdout.isTTY ? 'xterm-256color' : 'dumb',
  })
  const detached = new AbortController()
  using keyboard = openKeyboard(process.stdin)
  watchSize(process.stdout, AbortSignal.any([signal, detached.signal]), (size) => void shell.resize(size))
  const typing = (async () => {
    for await (const keys of keyboard.keys) shell.write(keys)
    if (keyboard.hasDetached()) detached.abort()
  })()
  typing.catch(() => undefined)
  const detaching = new Promise<'detached'>((resolve) =>
    detached.signal.addEventListener('abort', () => resolve('detached'), { once: true }),
  )
  const output = shell.output[Symbol.asyncIterator]()
  for (;;) {
    const next = await Promise.race([output.next(), detaching])
    if (next === 'detached') {
      terminal.write('\r\n')
      return true
    }
    if (next.done === true) return false
    terminal.write(next.value)
  }
}

/** Asks how to continue. Resolves to undefined to reopen the shell. */
async function askAction(signal: AbortSignal): Promise<(typeof ANSWERS)[keyof typeof ANSWERS] | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = (await lines.question('[c]ontinue, [r]etry, [f]ail, or back to the [t]erminal? ', { signal }))
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
