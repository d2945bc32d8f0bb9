import type { LogMarks } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { Marks } from './marks.ts'

function marks(lines: readonly number[], more: Partial<LogMarks> = {}): LogMarks {
  const problems = lines.map((line) => ({ line, kind: 'test' as const, text: `FAIL ${line}` }))
  return { attempt: 1, stream: 'step/test', lines: 100, complete: true, isCut: false, folds: [], problems, ...more }
}

async function load(answers: readonly LogMarks[]): Promise<{ found: Marks; calls: () => number }> {
  let calls = 0
  const read = (): Promise<LogMarks> => Promise.resolve(answers[Math.min(calls++, answers.length - 1)] ?? marks([]))
  const found = new Marks(read, () => undefined)
  await found.load(new AbortController().signal)
  return { found, calls: () => calls }
}

test('reads the marks of a long log in parts, until all of it was read', async () => {
  const { found, calls } = await load([
    marks([3], { lines: 50, complete: false }),
    marks([3, 70], { lines: 80, complete: false }),
    marks([3, 70, 95]),
  ])
  expect(found.problems.map(({ line }) => line)).toEqual([3, 70, 95])
  expect(calls()).toBe(3)
})

test('stops at the present end of a stream that has not ended', async () => {
  const { found, calls } = await load([marks([3], { lines: 50, complete: false })])
  expect(found.problems).toHaveLength(1)
  expect(calls()).toBe(2)
})

test('moves to the next problem and the one before, and continues at the other end', async () => {
  const { found } = await load([marks([3, 70, 95])])
  expect(found.move(-1, 1)?.line).toBe(3)
  expect(found.move(3, 1)?.line).toBe(70)
  expect(found.problemAt(70)).toBe('current')
  expect(found.problemAt(95)).toBe('problem')
  expect(found.problemAt(96)).toBeUndefined()
  expect(found.move(95, 1)?.line).toBe(3)
  expect(found.move(3, -1)?.line).toBe(95)
})

test('a log whose marks cannot be read has no problems', async () => {
  const found = new Marks(
    () => Promise.reject(new Error('away')),
    () => undefined,
  )
  await found.load(new AbortController().signal)
  expect(found.problems).toEqual([])
  expect(found.move(0, 1)).toBeUndefined()
})

test('a fold reaches to its end, or to the last line that was read', async () => {
  const fold = { style: 'group', name: 'Install', depth: 0, isFolded: true } as const
  const { found } = await load([
    marks([], {
      lines: 40,
      folds: [
        { ...fold, from: 2, to: 9 },
        { ...fold, from: 30 },
        { ...fold, from: 39 },
      ],
    }),
  ])
  expect([...found.folds.values()]).toEqual([
    { from: 2, to: 9 },
    { from: 30, to: 39 },
  ])
})
