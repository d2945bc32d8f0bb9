import { globSync, readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { expect, test } from 'vitest'
import config from '../vitest.config.ts'
import { GROUPS } from './testing/groups.ts'

const root = join(import.meta.dirname, '..')

test('every test file belongs to exactly one project', () => {
  const projects = (config.test?.projects ?? []).flatMap((project) =>
    typeof project === 'object' && 'test' in project ? [{ include: [], exclude: [], ...project.test }] : [],
  )
  const files = globSync('{packages,scripts,e2e,bench,examples}/**/*.test.ts', { cwd: root }).filter(
    (file) => !file.includes('node_modules'),
  )
  const isIn = (file: string, globs: readonly string[]): boolean => globs.some((glob) => matchesGlob(file, glob))
  const homes = (file: string): number =>
    projects.filter(({ include, exclude }) => isIn(file, include) && !isIn(file, exclude)).length
  expect(files.filter((file) => homes(file) !== 1)).toEqual([])
})

test('docs/development/tests.md has a row for every group', () => {
  const page = readFileSync(join(root, 'docs/development/tests.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name)
  expect(rows.toSorted()).toEqual(GROUPS.map(({ name }) => name).toSorted())
})
