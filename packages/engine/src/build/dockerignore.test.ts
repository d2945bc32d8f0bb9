import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { isIgnored, readIgnoreRules, toAwk } from './dockerignore.ts'

const rules = readIgnoreRules(`
# dependencies
node_modules
*/temp*
*.md
!README.md
**/*.log
/dist/
docs/**
!docs/keep/**
a?c
[xy]z
we.rd+name(1)
`)

const cases: readonly [path: string, ignored: boolean][] = [
  ['node_modules', true],
  ['node_modules/a/b.js', true],
  ['sub/node_modules/a', false],
  ['sub/temporary', true],
  ['sub/temporary/file', true],
  ['temp', false],
  ['CHANGES.md', true],
  ['README.md', false],
  ['sub/CHANGES.md', false],
  ['error.log', true],
  ['deep/er/error.log', true],
  ['dist/index.js', true],
  ['docs/page', true],
  ['docs/keep/page', false],
  ['abc', true],
  ['abbc', false],
  ['xz', true],
  ['zz', false],
  ['we.rd+name(1)', true],
  ['weXrd+name(1)', false],
  ['src/index.ts', false],
]

test.each(cases)('.dockerignore: %s is ignored: %s', (path, ignored) => {
  expect(isIgnored(path, rules)).toBe(ignored)
})

test('awk sees the same files as we do', () => {
  const { stdout } = spawnSync('awk', [toAwk(rules)], { input: cases.map(([path]) => `${path}\n`).join(''), encoding: 'utf8' })
  expect(stdout.trim().split('\n')).toEqual(cases.filter(([, ignored]) => !ignored).map(([path]) => path))
})

test('without rules every file is seen, and a pattern that names the folder itself ignores nothing', () => {
  expect(isIgnored('file', readIgnoreRules(''))).toBe(false)
  expect(readIgnoreRules('.\n/\n# only a comment')).toEqual([])
})
