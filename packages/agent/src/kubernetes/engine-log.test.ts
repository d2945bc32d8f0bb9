import { expect, test } from 'vitest'
import { readableLines } from './engine-log.ts'

test('turns JSON lines into their messages, each once, and keeps other lines', () => {
  const line = (msg: string): string => JSON.stringify({ level: 40, name: 'engine', msg })
  const log = [line('No connection.'), 'node: bad option', line('No connection.'), '{ broken', ''].join('\n')
  expect(readableLines(log)).toBe('No connection.\nnode: bad option\n{ broken')
})

test('keeps only the end of a long log', () => {
  expect(readableLines(`${'a'.repeat(5_000)}the end`)).toHaveLength(4_000)
})
