import { expect, test } from 'vitest'
import type { OutputPart } from '../docker/demux.ts'
import { Greeting } from './greeting.ts'

const HELLO = '\0windlass\0'
const part = (source: 1 | 2, text: string): OutputPart => ({ source, bytes: Buffer.from(text) })
const textOf = (parts: readonly OutputPart[]): string[] => parts.map(({ source, bytes }) => `${source} ${bytes.toString()}`)

/** Returns whether the promise is resolved by now. */
async function isDone(promise: Promise<void>): Promise<boolean> {
  return Promise.race([promise.then(() => true), new Promise<false>((resolve) => setImmediate(resolve, false))])
}

test('takes one greeting out of each output, in any parts', async () => {
  const greeting = new Greeting()
  expect(textOf(greeting.strip([part(1, HELLO.slice(0, 3))]))).toEqual([])
  expect(textOf(greeting.strip([part(1, `${HELLO.slice(3)}one\n`)]))).toEqual(['1 one\n'])
  expect(await isDone(greeting.heard)).toBe(false)
  expect(textOf(greeting.strip([part(2, HELLO), part(1, 'two\n')]))).toEqual(['1 two\n'])
  expect(await isDone(greeting.heard)).toBe(true)
  expect(textOf(greeting.strip([part(2, HELLO)]))).toEqual([`2 ${HELLO}`])
})

test('passes other output on', async () => {
  const greeting = new Greeting()
  expect(textOf(greeting.strip([part(2, '[FATAL tini (7)] exec sh failed')]))).toEqual(['2 [FATAL tini (7)] exec sh failed'])
  expect(textOf(greeting.strip([part(1, '\0win')]))).toEqual([])
  expect(textOf(greeting.strip([part(1, 'ter')]))).toEqual(['1 \0winter'])
  expect(await isDone(greeting.heard)).toBe(true)
})
