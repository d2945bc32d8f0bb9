import { expect, test } from 'vitest'
import { toMarkdown } from './build-markdown.ts'

const STEP = { name: 'unit_tests', type: 'freestyle', status: 'error', reason: 'exit-code', exitCode: 1 }
const FAILED = {
  number: 1279,
  pipeline: 'demo/app',
  branch: 'next',
  revision: '9e11f037aa11bb22cc33dd44ee55ff6677889900',
  status: 'error',
  startedAt: 0,
  finishedAt: 184_000,
  blame: 'unit_tests',
  steps: [STEP],
}
const address = 'https://windlass.example/builds/65f0'

test('a failed build has its sentence, its step, the last lines and the address', () => {
  expect(toMarkdown(FAILED, { address, lastLines: ['FAIL tax.test.ts', 'expected 19 to be 7'] })).toBe(
    [
      '**demo/app \\#1279** failed after 3 m 04 s: step unit\\_tests: exit code 1.',
      '`next` at `9e11f037`',
      'Step `unit_tests`: exit code 1',
      '```\nFAIL tax.test.ts\nexpected 19 to be 7\n```',
      `${address}\n`,
    ].join('\n\n'),
  )
})

test('text of others stays text: markup is escaped, and no line ends the fence', () => {
  const text = toMarkdown(
    { ...FAILED, branch: 'a`b', steps: [{ ...STEP, message: '[x](javascript:1) <b>\nnext' }] },
    { address, lastLines: ['```', '````js'] },
  )
  expect(text).toContain('``a`b``')
  expect(text).toContain('Step `unit_tests`: \\[x\\](javascript:1) \\<b\\> next')
  expect(text).toContain('`````\n```\n````js\n`````')
})

test('a message that is a sentence does not end with two stops', () => {
  expect(toMarkdown({ ...FAILED, steps: [{ ...STEP, message: 'Exit code 1.' }] }, { address })).toMatch(/: Exit code 1\.\n/)
})

test('a build that ended well has its sentence and its address only', () => {
  const { branch: _branch, revision: _revision, blame: _blame, ...build } = FAILED
  expect(toMarkdown({ ...build, status: 'success', steps: [] }, { address })).toBe(
    `**demo/app \\#1279** succeeded after 3 m 04 s.\n\n${address}\n`,
  )
})

test('copies lines with hundreds of thousands of backticks', () => {
  expect(toMarkdown(FAILED, { address, lastLines: ['` '.repeat(300_000)] })).toContain('```\n` ` ')
})
