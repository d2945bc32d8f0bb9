import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { retriesOf } from './retries.ts'

const root = join(import.meta.dirname, '../..')

test('reads the reason of a retry from the comment above the test', () => {
  const source = [
    "// The kernel of this machine drops the first packet.\ntest('one', { retry: 1 }, () => {})",
    "test('two', { timeout: 5, retry: 2 }, () => {})",
    "test('three', () => {})",
  ]
  expect(retriesOf(source.join('\n\n'))).toEqual([
    { title: 'one', reason: 'The kernel of this machine drops the first packet.' },
    { title: 'two', reason: undefined },
  ])
})

test('every test with a retry has a reason', () => {
  const files = globSync('{packages,e2e,bench}/**/*.test.ts', { cwd: root }).filter((file) => !file.includes('node_modules'))
  const mute = files.filter((file) => {
    const source = readFileSync(join(root, file), 'utf8')
    const named = retriesOf(source).filter(({ reason }) => reason !== undefined)
    return named.length !== [...source.matchAll(/\bretry: \d/g)].length
  })
  expect(mute).toEqual([])
})
