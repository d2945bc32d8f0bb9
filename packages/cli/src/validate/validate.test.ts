import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findFiles } from './find-files.ts'
import { validateFile } from './validate-file.ts'

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

test('expands patterns, keeps files unique and in order, and reports missing ones', () => {
  const at = (...names: string[]): string[] => names.map((name) => join(folder, name))
  const found = findFiles(at('b.yml', '[ab].yml', '**/*.yaml', 'odd[1].yml', 'none.yml', '*.txt'))
  expect(found.paths).toEqual(at('b.yml', 'a.yml', 'deep/c.yaml', 'odd[1].yml'))
  expect(found.missing).toEqual(at('none.yml', '*.txt'))
  expect(findFiles(['-']).paths).toEqual(['-'])
})

test('validates every document of a file by its kind, with line numbers of the file', async () => {
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
  const { valid, problems } = await validateFile(file)
  expect(valid).toBe(false)
  const found = problems.map(({ line, code, message }) => `${line} ${code} ${message}`)
  expect(found).toContain('10 required "candidate" is required')
  expect(found).toContain('13 required "version" is required')
  expect(found.find((one) => one.startsWith('16 document type:'))).toBeDefined()
  expect(found.at(-1)).toBe('20 document The kind "shoe" does not exist.')
})

test('rejects two pipelines without a kind in one file, and invalid YAML', async () => {
  const two = await validateFile(write('two.yml', "version: '1.0'\nsteps: {}\n---\nversion: '1.0'\nsteps: {}\n"))
  expect(two.problems.map(({ code, line }) => `${line} ${code}`)).toEqual(['3 several-documents'])
  const none = await validateFile(write('none.yml', 'kind: project\n  x: [\n'))
  expect(none.valid).toBe(false)
})

test('reads a file again if requested', async () => {
  const file = write('again.yml', "version: '1.0'\nsteps: {}\n")
  expect((await validateFile(file)).valid).toBe(true)
  write('again.yml', 'version: 2\nsteps: {}\n')
  expect((await validateFile(file)).valid).toBe(true)
  expect((await validateFile(file, { again: true })).valid).toBe(false)
})

test('a manifest that is left out is named with its first problem, and with how to see the others', async () => {
  mkdirSync(join(folder, 'types'))
  const broken = write('types/broken.yaml', "kind: step-type\nmetadata: { name: 5, version: '1' }\nspec: { steps: [] }\n")
  const file = write('typed.yml', "version: '1.0'\nsteps: { a: { type: 'acme/it:1.0.0' } }\n")
  const { problems } = await validateFile(file, { stepTypes: join(folder, 'types') })
  expect(problems[0]).toMatchObject({
    file: broken,
    line: 2,
    code: 'step-type',
    message: 'the step type is left out: "name" must be a string. Current value: 5',
    hint: `It has 2 more: \`windlass validate ${broken}\`.`,
  })
})
