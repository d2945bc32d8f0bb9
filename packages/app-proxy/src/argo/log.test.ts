import { MAX_LOG_BYTES, MAX_LOG_LINE } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { readLog } from './log.ts'

/** Sends a text in pieces of a size. */
async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const entry = (content: string, timeStampStr = '2027-01-15T09:00:01.5Z'): string =>
  `${JSON.stringify({ result: { content, timeStampStr, podName: 'api' } })}\n`
const END = `${JSON.stringify({ result: { last: true } })}\n`
const limits = { pod: 'api', tail: 3 }

test('lines are read whatever the pieces are, and empty ones stay', async () => {
  const text = entry('ein Faß') + entry('') + END
  for (const size of [1, 7, 10_000])
    expect(await readLog(inPieces(text, size), limits)).toEqual({
      items: [
        { pod: 'api', at: '2027-01-15T09:00:01.5Z', text: 'ein Faß' },
        { pod: 'api', at: '2027-01-15T09:00:01.5Z', text: '' },
      ],
    })
})

test('as many lines as were asked for, long lines, and too many bytes are cut, and say so', async () => {
  const { items, isCut } = await readLog(inPieces(entry('a') + entry('x'.repeat(MAX_LOG_LINE + 1)) + entry('c'), 4_096), limits)
  expect(isCut).toBe(true)
  expect(items.map(({ text, isCut: isLineCut }) => [text.length, isLineCut])).toEqual([
    [1, undefined],
    [MAX_LOG_LINE, true],
    [1, undefined],
  ])
  const many = Math.ceil(MAX_LOG_BYTES / MAX_LOG_LINE) + 10
  const text = Array.from({ length: many }, (_, index) => entry(String(index).padEnd(MAX_LOG_LINE, '.'))).join('')
  const kept = await readLog(inPieces(text, 65_536), { pod: 'api', tail: 5_000 })
  expect(kept.isCut).toBe(true)
  expect(kept.items.at(-1)?.text).toMatch(new RegExp(`^${many - 1}\\.`))
  expect(kept.items.reduce((sum, line) => sum + line.text.length, 0)).toBeLessThanOrEqual(MAX_LOG_BYTES)
})

test('an error in the middle is told in the words of Argo CD', async () => {
  const text = `${entry('a')}${JSON.stringify({ error: { message: 'container "main" is waiting to start' } })}\n`
  await expect(readLog(inPieces(text, 100), limits)).rejects.toMatchObject({
    code: 'argo-cd-refused',
    message: 'Argo CD: container "main" is waiting to start',
  })
})
