import type { FeedItem } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { endLines, openLineSplitter, openLogLines, stepNameOf, type LogAddition } from './log-lines.ts'

const TIME = '[1970-01-01T00:00:01.000Z] '
const bytes = (text: string): Buffer => Buffer.from(text)

test('every line gets the time of its end and a line end', () => {
  const splitter = openLineSplitter()
  expect(splitter.push(bytes('one\ntwo\r\nthr'), 0)).toEqual([
    '[1970-01-01T00:00:00.000Z] one\r\n',
    '[1970-01-01T00:00:00.000Z] two\r\n',
  ])
  expect(splitter.push(bytes('ee\n'), 1000)).toEqual([`${TIME}three\r\n`])
  expect(splitter.flush()).toEqual([])
})

test('a character that two chunks share is kept, and the last line is completed', () => {
  const splitter = openLineSplitter()
  const [first, second] = [bytes('ü').subarray(0, 1), bytes('ü').subarray(1)]
  expect([...splitter.push(first, 1000), ...splitter.push(second, 1000), ...splitter.flush()]).toEqual([`${TIME}ü\r\n`])
})

test('a line without end is passed on in pieces, and only the first has a time', () => {
  const splitter = openLineSplitter()
  const lines = [...splitter.push(bytes('x'.repeat(150_000)), 1000), ...splitter.push(bytes('y\nz\n'), 1000)]
  expect(lines.map((line) => line.length)).toEqual([65_536 + TIME.length, 65_536, 18_928 + 3, TIME.length + 3])
  expect(lines.join('')).toBe(`${TIME}${'x'.repeat(150_000)}y\r\n${TIME}z\r\n`)
})

test('streams are shown in their step, and terminals are not shown', () => {
  expect(stepNameOf('system', 1)).toBe('Initializing Process')
  expect(stepNameOf('step/build', 1)).toBe('build')
  expect(stepNameOf('step/build', 2)).toBe('build (attempt 2)')
  expect(stepNameOf('step/build.services', 1)).toBe('build')
  expect(stepNameOf('step/.services', 1)).toBe('Services')
  expect(stepNameOf(`terminal/${'a'.repeat(24)}`, 1)).toBeUndefined()
})

test('a build that did not succeed ends with its cause', () => {
  const build = { status: 'error', message: 'The document has errors.\nline 1', hint: 'Correct it.', finished_at: 1000 } as const
  expect(endLines(build)).toEqual([`${TIME}error: The document has errors.\r\n`, `${TIME}line 1\r\n`, `${TIME}Correct it.\r\n`])
  expect(endLines({ ...build, status: 'success' })).toEqual([])
})

const log = (position: number, stream: string, text: string): FeedItem => ({
  kind: 'log',
  position,
  attempt: 1,
  at: 1000,
  stream,
  offset: 0,
  bytes: bytes(text).toString('base64'),
})

const shown = (additions: readonly LogAddition[]): unknown[] =>
  additions.map(({ step, isNew, lines }) => [step.key, step.name, isNew, ...lines.map(({ key, text }) => `${key} ${text}`)])

test('the same feed gives the same keys, in the order of steps and lines', () => {
  const items = [log(1, 'system', 'up\n'), log(2, 'step/a', 'one\ntw'), log(3, 'step/b', 'b\n'), log(4, 'step/a', 'o\nrest')]
  const read = (): unknown[] => {
    const lines = openLogLines()
    const ended = { status: 'terminated', message: 'Terminated by a.', hint: null, finished_at: 2000 } as const
    return shown([...items.flatMap((item) => lines.take(item)), ...lines.end(ended)])
  }
  expect(read()).toEqual([
    ['s000000', 'Initializing Process', true, `l000000001 ${TIME}up\r\n`],
    ['s000001', 'a', true, `l000000001 ${TIME}one\r\n`],
    ['s000002', 'b', true, `l000000001 ${TIME}b\r\n`],
    ['s000001', 'a', false, `l000000002 ${TIME}two\r\n`],
    ['s000001', 'a', false, `l000000003 ${TIME}rest\r\n`],
    ['s000003', 'Build', true, 'l000000001 [1970-01-01T00:00:02.000Z] terminated: Terminated by a.\r\n'],
  ])
  expect(read()).toEqual(read())
})

test('the end of a step completes its last line', () => {
  const lines = openLogLines()
  expect(shown(lines.take(log(1, 'step/a', 'no end')))).toEqual([])
  const finished = { kind: 'event', position: 2, attempt: 1, source: 'engine', at: 3000, type: 'step.finished' } as const
  expect(lines.take({ ...finished, data: { step: 'other' } })).toEqual([])
  expect(shown(lines.take({ ...finished, data: { step: 'a' } }))).toEqual([
    ['s000000', 'a', true, `l000000001 ${TIME}no end\r\n`],
  ])
})
