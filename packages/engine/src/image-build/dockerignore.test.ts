import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { readIgnoreRules, toAwk } from './dockerignore.ts'

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

/** The paths that a build sees, by the program that chooses them. */
function seen(paths: readonly string[], of: ReturnType<typeof readIgnoreRules>): string[] {
  const { stdout } = spawnSync('awk', [toAwk(of)], { input: paths.map((path) => `${path}\n`).join(''), encoding: 'utf8' })
  return stdout.split('\n').filter((line) => line !== '')
}

test.each(cases)('applies .dockerignore: %s is ignored: %s', (path, ignored) => {
  expect(seen([path], rules)).toEqual(ignored ? [] : [path])
})

test('selects the files in their order', () => {
  const paths = cases.map(([path]) => path)
  expect(seen(paths, rules)).toEqual(cases.filter(([, ignored]) => !ignored).map(([path]) => path))
})

test('ignores nothing without rules or with a pattern for the folder itself', () => {
  expect(seen(['file'], readIgnoreRules(''))).toEqual(['file'])
  expect(readIgnoreRules('.\n/\n# only a comment')).toEqual([])
})
