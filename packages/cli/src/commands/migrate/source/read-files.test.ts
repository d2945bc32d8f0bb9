import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readFiles } from './read-files.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'windlass-read-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function write(name: string, text: string): string {
  const file = join(folder, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

test('reads every document of all YAML files below a folder, and follows no links', () => {
  write('one/codefresh.yml', 'steps: {}\n')
  write('one/release build.yaml', '# nothing\n---\na: 1\n---\n\nb: 2\n')
  write('node_modules/x.yml', 'a: 1\n')
  write('notes.md', 'a: 1\n')
  write('empty.yml', '---\n')
  write('large.yml', `a: ${'x'.repeat(1_048_577)}\n`)
  symlinkSync(join(folder, 'one'), join(folder, 'linked'))
  symlinkSync(join(folder, 'one/codefresh.yml'), join(folder, 'linked.yml'))
  expect(readFiles(folder)).toEqual([
    { text: 'steps: {}\n', line: 1, from: join(folder, 'one/codefresh.yml'), name: 'one', isNamed: false },
    { text: 'a: 1', line: 3, from: join(folder, 'one/release build.yaml'), name: 'one/release-build', isNamed: false },
    { text: '\nb: 2\n', line: 5, from: join(folder, 'one/release build.yaml'), name: 'one/release-build', isNamed: false },
  ])
})

test('a pipeline of a named file is called like the file, or like its folder', () => {
  expect(readFiles(write('app/codefresh.yml', 'steps: {}\n'))).toMatchObject([{ name: 'app', isNamed: true }])
  expect(readFiles(write('app/release.yml', 'steps: {}\n'))).toMatchObject([{ name: 'release' }])
})

test('a path that does not exist is a fault', () => {
  expect(() => readFiles(join(folder, 'none'))).toThrow(/none does not exist/)
})
