import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { styleFor } from '../format/style.ts'
import type { Terminal } from '../printer.ts'
import { LogView, type LogViewOptions, type ViewItem } from './log-view.ts'
import { tailTerminal } from './tail-terminal.ts'

function paper(): { terminal: Terminal; text: () => string } {
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
  const { terminal, text } = paper()
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

test('a step has a header with its title, its lines as they are, and its duration', () => {
  expect(
    show([started('a', 0), output('a', 'one\ntw'), output('a', 'o\n'), finished('a', 1_234)], { titleOf: () => 'Say it' }),
  ).toBe('▶ a  Say it\none\ntwo\n✔ a  1.2 s\n')
})

test('a failed step says why, and how long it took', () => {
  expect(show([started('a', 0), finished('a', 2_000, { status: 'error', reason: 'exit-code', exitCode: 3 })])).toContain(
    '✖ a  2.0 s  exit code 3\n',
  )
})

test('lines carry the name of their step only while several run', () => {
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

test('one step alone comes without headers, byte for byte', () => {
  expect(
    show([started('a', 0), output('a', 'one\ntwo'), started('b', 0), output('b', 'x\n'), finished('a', 1)], { step: 'a' }),
  ).toBe('one\ntwo\n')
})

test('the time stands in front when asked for', () => {
  expect(show([started('a', 0), output('a', 'one\n')], { timestamps: true })).toContain('1970-01-01T00:00:00.005Z one\n')
})

test('a second attempt is announced, and its steps begin anew', () => {
  const again: ViewItem = { kind: 'event', attempt: 2, at: 9, type: 'attempt.started', data: {} }
  expect(show([started('a', 0), again, started('a', 10), finished('a', 11)])).toBe('▶ a\n\n↻ attempt 2\n\n▶ a\n✔ a  1 ms\n')
})

test('a skipped step is one line', () => {
  expect(show([finished('a', 5, { status: 'skipped', reason: 'condition-false' })])).toBe(
    '– a  The condition of the step is not met.\n',
  )
})

test('a tail keeps the last lines until it is released', () => {
  const { terminal, text } = paper()
  const tail = tailTerminal(terminal, 2)
  for (const line of ['1\n', '2\n', '3\n']) tail.terminal.write(line)
  expect(text()).toBe('')
  tail.release()
  tail.terminal.write('4\n')
  expect(text()).toBe('2\n3\n4\n')
})
