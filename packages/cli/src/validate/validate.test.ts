import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findFiles } from './find-files.ts'
import { judgeFile } from './judge-file.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'windlass-validate-'))
  mkdirSync(join(folder, 'deep'))
  for (const name of ['b.yml', 'a.yml', 'deep/c.yaml', 'odd[1].yml']) write(name, "version: '1.0'\nsteps: {}\n")
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

test('patterns are expanded, files keep their order and are named once, and what is missing is told', () => {
  const at = (...names: string[]): string[] => names.map((name) => join(folder, name))
  const found = findFiles(at('b.yml', '[ab].yml', '**/*.yaml', 'odd[1].yml', 'none.yml', '*.txt'))
  expect(found.paths).toEqual(at('b.yml', 'a.yml', 'deep/c.yaml', 'odd[1].yml'))
  expect(found.missing).toEqual(at('none.yml', '*.txt'))
  expect(findFiles(['-']).paths).toEqual(['-'])
})

test('every document of a file is checked, each by its kind, with the lines of the file', async () => {
  const file = write(
    'many.yml',
    `# comment
---
kind: project
metadata: { name: demo }
---
kind: pipeline
metadata: { name: demo/x }
spec:
  steps:
    a: { type: push }
---
kind: step-type
metadata: { name: demo/greet }
spec: {}
---
kind: context
metadata: { name: c }
spec: { type: foo, data: {} }
---
kind: shoe
`,
  )
  const { valid, problems } = await judgeFile(file)
  expect(valid).toBe(false)
  const told = problems.map(({ line, code, message }) => `${line} ${code} ${message}`)
  expect(told).toContain('10 required "candidate" is required')
  expect(told).toContain('13 required "version" is required')
  expect(told.find((one) => one.startsWith('16 document type:'))).toBeDefined()
  expect(told.at(-1)).toBe('20 document There is no kind "shoe".')
})

test('two pipelines without a kind in one file are one too many, and text that is no YAML is told as that', async () => {
  const two = await judgeFile(write('two.yml', "version: '1.0'\nsteps: {}\n---\nversion: '1.0'\nsteps: {}\n"))
  expect(two.problems.map(({ code, line }) => `${line} ${code}`)).toEqual(['3 several-documents'])
  const none = await judgeFile(write('none.yml', 'kind: project\n  x: [\n'))
  expect(none.valid).toBe(false)
})

test('a file that was read before is read anew when asked', async () => {
  const file = write('again.yml', "version: '1.0'\nsteps: {}\n")
  expect((await judgeFile(file)).valid).toBe(true)
  write('again.yml', 'version: 2\nsteps: {}\n')
  expect((await judgeFile(file)).valid).toBe(true)
  expect((await judgeFile(file, { again: true })).valid).toBe(false)
})
