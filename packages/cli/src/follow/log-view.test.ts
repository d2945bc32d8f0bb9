import { setTimeout } from 'node:timers/promises'
import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { styleFor } from '../format/style.ts'
import type { Terminal } from '../printer.ts'
import { LogView, type LogViewOptions, type ViewItem } from './log-view.ts'
import { tailTerminal } from './tail-terminal.ts'

function memoryTerminal(): { terminal: Terminal; text: () => string } {
  let written = ''
  const terminal = {
    isTTY: false,
    columns: 80,
    style: styleFor(false),
    drained: () => Promise.resolve(),
    write: (bytes: string | Uint8Array) => void (written += Buffer.from(bytes).toString()),
  }
  return { terminal, text: () => written }
}

function show(items: readonly ViewItem[], options: Partial<LogViewOptions> = {}): string {
  const { terminal, text } = memoryTerminal()
  using view = new LogView({ terminal, clock: manualClock(), ...options })
  for (const item of items) view.show(item)
  view[Symbol.dispose]()
  return text()
}

const started = (step: string, at: number): ViewItem => ({
  kind: 'event',
  attempt: 1,
  at,
  type: 'step.started',
  data: { step, try: 1 },
})
const finished = (step: string, at: number, data: object = { status: 'success' }): ViewItem => ({
  kind: 'event',
  attempt: 1,
  at,
  type: 'step.finished',
  data: { step, ...data },
})
const output = (step: string, text: string): ViewItem => ({
  kind: 'log',
  attempt: 1,
  at: 5,
  stream: `step/${step}`,
  bytes: Buffer.from(text),
})

test('shows a header with the title of a step, its raw lines and its duration', () => {
  expect(
    show([started('a', 0), output('a', 'one\ntw'), output('a', 'o\n'), finished('a', 1_234)], { titleOf: () => 'Say it' }),
  ).toBe('▶ a  Say it\none\ntwo\n✔ a  1.2 s\n')
})

test('removes the status line while a local build asks for an approval', async () => {
  const { terminal, text } = memoryTerminal()
  const waiting: ViewItem = { kind: 'event', attempt: 1, at: 1, type: 'step.waiting', data: { step: 'ok', reason: 'approval' } }
  const draw = async (buildId: string | undefined): Promise<string> => {
    const before = text().length
    using view = new LogView({ terminal: { ...terminal, isTTY: true }, clock: manualClock(), buildId })
    view.show(started('ok', 0))
    view.show(waiting)
    await setTimeout(600)
    return text().slice(before)
  }
  expect(await draw(undefined)).not.toContain('ok waits')
  expect(await draw('65f0c1d2a3b4c5d6e7f80912')).toContain('ok waits: approval')
})

test('shows why the pods of a build are waiting', () => {
  const message = 'The engine pod engine-1 runs but has not called http://10.0.0.5:7400.'
  const data = { reason: 'engine-silent', message }
  expect(show([{ kind: 'event', attempt: 1, at: 0, type: 'attempt.waiting', data }])).toBe(`… waiting: ${message}\n`)
})

test('hides the short wait for a new disk', () => {
  const message = '0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found'
  const data = { reason: 'disk-unavailable', message }
  expect(show([{ kind: 'event', attempt: 1, at: 0, type: 'attempt.waiting', data }])).toBe('')
})

test('shows the reason and duration of a failed step', () => {
  expect(show([started('a', 0), finished('a', 2_000, { status: 'error', reason: 'exit-code', exitCode: 3 })])).toContain(
    '✖ a  2.0 s  exit code 3\n',
  )
})

test('does not repeat the reason of a failed step', () => {
  const failed = finished('a', 2_000, { status: 'error', reason: 'exit-code', message: 'Exit code 3.' })
  const systemLine = output('a', '[SYSTEM] Exit code 3. Look above.\n')
  expect(show([started('a', 0), systemLine, failed])).toBe('▶ a\n[SYSTEM] Exit code 3. Look above.\n✖ a  2.0 s\n')
  expect(show([started('a', 0), systemLine, started('b', 1), output('b', 'between\n'), failed])).toContain(
    '✖ a  2.0 s  Exit code 3.\n',
  )
})

test('prefixes lines with the step name only while several steps run', () => {
  const text = show([
    started('a', 0),
    output('a', 'alone\n'),
    started('b', 0),
    output('a', 'one\n'),
    output('b', 'two\n'),
    finished('a', 1),
    finished('b', 2),
  ])
  expect(text).toContain('\nalone\n')
  expect(text).toContain('\na | one\nb | two\n')
})

test('shows a single step without headers, byte for byte', () => {
  expect(
    show([started('a', 0), output('a', 'one\ntwo'), started('b', 0), output('b', 'x\n'), finished('a', 1)], { step: 'a' }),
  ).toBe('one\ntwo\n')
})

test('prefixes lines with the time if requested', () => {
  expect(show([started('a', 0), output('a', 'one\n')], { timestamps: true })).toContain('1970-01-01T00:00:00.005Z one\n')
})

test('announces a second attempt and restarts its steps', () => {
  const again: ViewItem = { kind: 'event', attempt: 2, at: 9, type: 'attempt.started', data: {} }
  expect(show([started('a', 0), again, started('a', 10), finished('a', 11)])).toBe('▶ a\n\n↻ attempt 2\n\n▶ a\n✔ a  1 ms\n')
})

test('shows a skipped step in one line', () => {
  expect(show([finished('a', 5, { status: 'skipped', reason: 'condition-false' })])).toBe(
    '– a  The condition of the step is not met.\n',
  )
})

test('a tail holds back the last lines until it is released', () => {
  const { terminal, text } = memoryTerminal()
  const tail = tailTerminal(terminal, 2)
  for (const line of ['1\n', '2\n', '3\n']) tail.terminal.write(line)
  expect(text()).toBe('')
  tail.release()
  tail.terminal.write('4\n')
  expect(text()).toBe('2\n3\n4\n')
})
