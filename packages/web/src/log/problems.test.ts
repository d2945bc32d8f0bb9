import type { LogMarks } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { Problems } from './problems.ts'

function marks(lines: readonly number[], more: Partial<LogMarks> = {}): LogMarks {
  const problems = lines.map((line) => ({ line, kind: 'test' as const, text: `FAIL ${line}` }))
  return { attempt: 1, stream: 'step/test', lines: 100, complete: true, isCut: false, folds: [], problems, ...more }
}

async function load(answers: readonly LogMarks[]): Promise<{ problems: Problems; calls: () => number }> {
  let calls = 0
  const read = (): Promise<LogMarks> => Promise.resolve(answers[Math.min(calls++, answers.length - 1)] ?? marks([]))
  const problems = new Problems(read, () => undefined)
  await problems.load(new AbortController().signal)
  return { problems, calls: () => calls }
}

test('reads the marks of a long log in parts, until all of it was read', async () => {
  const { problems, calls } = await load([
    marks([3], { lines: 50, complete: false }),
    marks([3, 70], { lines: 80, complete: false }),
    marks([3, 70, 95]),
  ])
  expect(problems.all.map(({ line }) => line)).toEqual([3, 70, 95])
  expect(calls()).toBe(3)
})

test('stops at the present end of a stream that has not ended', async () => {
  const { problems, calls } = await load([marks([3], { lines: 50, complete: false })])
  expect(problems.all).toHaveLength(1)
  expect(calls()).toBe(2)
})

test('moves to the next problem and the one before, and continues at the other end', async () => {
  const { problems } = await load([marks([3, 70, 95])])
  expect(problems.move(-1, 1)?.line).toBe(3)
  expect(problems.move(3, 1)?.line).toBe(70)
  expect(problems.at(70)).toBe('current')
  expect(problems.at(95)).toBe('problem')
  expect(problems.at(96)).toBeUndefined()
  expect(problems.move(95, 1)?.line).toBe(3)
  expect(problems.move(3, -1)?.line).toBe(95)
})

test('a log whose marks cannot be read has no problems', async () => {
  const problems = new Problems(
    () => Promise.reject(new Error('away')),
    () => undefined,
  )
  await problems.load(new AbortController().signal)
  expect(problems.all).toEqual([])
  expect(problems.move(0, 1)).toBeUndefined()
})
