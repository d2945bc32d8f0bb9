import { globSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { expect, test } from 'vitest'
import config from '../vitest.config.ts'

const root = join(import.meta.dirname, '..')

test('every test file belongs to exactly one project, so that none is left out of the run', () => {
  const projects = config.test?.projects ?? []
  const patterns = projects.map((project) =>
    typeof project === 'object' && 'test' in project ? (project.test?.include ?? []) : [],
  )
  const files = globSync('{packages,scripts,e2e,bench,examples}/**/*.test.ts', { cwd: root }).filter(
    (file) => !file.includes('node_modules'),
  )
  const homes = (file: string): number => patterns.filter((globs) => globs.some((glob) => matchesGlob(file, glob))).length
  expect(files.filter((file) => homes(file) !== 1)).toEqual([])
})
