import { isFault } from '@windlass/kit/faults'
import { expect, test } from 'vitest'
import { readDocuments } from './documents.ts'

const options = { name: undefined, runtime: undefined }
const read = (text: string, more: object = {}) => readDocuments({ name: 'f.yml', text }, { ...options, ...more })

function faultOf(work: () => unknown): { message: string; hint: string } {
  try {
    work()
  } catch (error) {
    if (isFault(error)) return { message: error.message, hint: error.hint }
    throw error
  }
  throw new Error('nothing was thrown')
}

test('a file may contain several documents; each pipeline keeps its own text and first line', () => {
  const text =
    'kind: project\nmetadata: { name: demo }\n---\nkind: pipeline\nmetadata: { name: demo/app }\nspec:\n  steps: {}\n---\nkind: context\nmetadata: { name: c, default: true }\nspec: { type: config, data: { A: b } }\n'
  const [project, pipeline, context] = read(text)
  expect(project).toMatchObject({ kind: 'projects', name: 'demo', body: { name: 'demo', variables: {} } })
  expect(pipeline).toMatchObject({ kind: 'pipelines', name: 'demo/app', firstLine: 4 })
  expect(pipeline?.body).toMatchObject({ document: expect.stringMatching(/^kind: pipeline\nmetadata: /) })
  expect(context).toMatchObject({ kind: 'contexts', body: { name: 'c', isDefault: true, type: 'config', data: { A: 'b' } } })
})

test('a document with steps and no kind is a pipeline named on the command line', () => {
  expect(read("version: '1.0'\nsteps: {}\n", { name: 'demo/app', runtime: 'local' })).toMatchObject([
    { kind: 'pipelines', name: 'demo/app', body: { runtime: 'local', document: "version: '1.0'\nsteps: {}\n" } },
  ])
  expect(faultOf(() => read('steps: {}')).hint).toContain('--name')
})

test('separates the type and agent of a runtime from its specification', () => {
  const [runtime] = read('kind: runtime\nmetadata: { name: r }\nspec: { type: docker, agent: a, capacity: 3 }\n')
  expect(runtime?.body).toMatchObject({ name: 'r', type: 'docker', agent: 'a', spec: { capacity: 3 } })
})

test('suggests the nearest kind for an unknown one', () => {
  expect(faultOf(() => read('kind: pipline\nmetadata: { name: x }\n')).hint).toBe('Did you mean "pipeline"?')
})

test('reports invalid YAML with its position', () => {
  expect(faultOf(() => read('kind: "project\n')).message).toBe('f.yml is not valid YAML.')
})

test('rejects an empty file', () => {
  expect(faultOf(() => read('# nothing\n')).message).toBe('f.yml does not contain a document.')
})

test('names the wrong type of a field with the words of YAML', () => {
  const list = 'kind: project\nmetadata: { name: demo }\nspec: { variables: [{ key: A, value: b }] }\n'
  expect(() => read(list)).toThrow(
    expect.objectContaining({
      code: 'document-invalid',
      details: expect.objectContaining({
        problems: [{ file: 'f.yml', line: 1, message: 'variables: Invalid input: expected a mapping, received a list' }],
      }),
    }),
  )
})
