import type { LogLines } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { LineSource } from './source.ts'

const TOTAL = 1_000_000

function answerOf(from: number, count: number): LogLines {
  const text = Array.from({ length: count }, (_, n) => `line ${from + n}\n`).join('')
  const place = { attempt: 1, stream: 'step/a', from, lines: count, total: TOTAL, complete: true }
  return { ...place, startByte: 0, bytes: text.length, sgr: '', times: [], cut: [], text }
}

/** A source whose reads end only when they are aborted, unless `answers`. */
function openSource(answers = false): { readonly source: LineSource; readonly asked: number[] } {
  const asked: number[] = []
  const source = new LineSource(
    async ({ from, count }, signal) => {
      asked.push(from)
      if (answers) return answerOf(from, count)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
    () => undefined,
  )
  source.grow(TOTAL)
  return { source, asked }
}

test('a view that moves faster than lines arrive reads where it begins and where it stays', async () => {
  const { source, asked } = openSource()
  for (let place = 0; place < 50; place += 1) source.want(place * 5_000, place * 5_000 + 50, 1)
  expect(asked).toEqual([0])
  await expect.poll(() => asked).toEqual([0, 244_736])
  source.close()
})

test('a block that comes back into view after its read was aborted is read again', async () => {
  const { source, asked } = openSource()
  source.want(0, 50, 1)
  source.want(5_000, 5_050, 1)
  source.want(0, 50, -1)
  await expect.poll(() => asked).toEqual([0, 0])
  source.close()
})

test('the next block in the direction of the movement is read after those in view', async () => {
  const { source, asked } = openSource(true)
  source.want(1_000, 1_050, 1)
  expect(asked).toEqual([512, 1_024])
  await expect.poll(() => source.lineAt(1_030)?.text).toBe('line 1030')
  source.want(1_000, 1_050, 1)
  source.want(1_000, 1_050, -1)
  await expect.poll(() => asked).toEqual([512, 1_024, 1_536, 0])
})

test('lines that were read elsewhere are not read again', async () => {
  const { source, asked } = openSource(true)
  source.add(answerOf(0, 512))
  expect(source.lineAt(511)?.text).toBe('line 511')
  source.want(0, 50, 1)
  expect(asked).toEqual([512])
})
