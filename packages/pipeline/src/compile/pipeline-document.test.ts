import { expect, test } from 'vitest'
import { planOf, formatProblems, problemsOf } from '../../test/documents.ts'
import { documentKind, readPipelineDocument } from './pipeline-document.ts'

const TEXT = `version: '1.0'
kind: pipeline
metadata:
  name: demo/app
  description: An example
  labels: { tags: [one, two] }
spec:
  concurrency: 2
  branchConcurrency: '1'
  priority: 10
  runtimeEnvironment: { name: local, memory: 2Gi, dindStorage: nullGi }
  variables:
    - { key: A, value: 1.50 }
    - { key: B, value: secret, encrypted: true }
    - { key: C }
  contexts: [shared, other]
  triggers: [{ type: git, name: push }]
  options: { noCache: true }
  stages: [s]
  steps:
    one: { image: alpine, stage: s }
`

test('reads the settings of a pipeline document and keeps the rest unchanged', () => {
  const { document, problems } = readPipelineDocument({ text: TEXT, file: 'p.yml' })
  expect(formatProblems(problems)).toEqual([])
  expect(document).toEqual({
    name: 'demo/app',
    description: 'An example',
    labels: { tags: ['one', 'two'] },
    source: { kind: 'inline' },
    settings: {
      variables: [
        { name: 'A', value: '1.50', encrypted: false },
        { name: 'B', value: 'secret', encrypted: true },
        { name: 'C', value: '', encrypted: false },
      ],
      contexts: ['shared', 'other'],
      runtimeEnvironment: { name: 'local', memory: '2Gi' },
      concurrency: 2,
      branchConcurrency: 1,
      priority: 10,
      mainClone: {},
      kept: { triggers: [{ type: 'git', name: 'push' }], options: { noCache: true } },
    },
  })
})

test.each([
  ['{ automatic: true }', { automatic: true, repo: 'a/b', git: 'forge' }],
  ['{ automatic: false, repo: c/d }', { automatic: false, repo: 'c/d' }],
])('takes the repository of the steps for the automatic clone, unless it names one: %s', (mainClone, expected) => {
  const template = '{ location: git, repo: a/b, path: p.yml, context: forge }'
  const text = `kind: pipeline\nmetadata: { name: a/b }\nspec:\n  specTemplate: ${template}\n  mainClone: ${mainClone}\n`
  const { document, problems } = readPipelineDocument({ text, file: 'p.yml' })
  expect(problems).toEqual([])
  expect(document?.settings.mainClone).toEqual(expected)
})

test('compiles a pipeline document like an inline one, with its own positions', () => {
  const plan = planOf(TEXT)
  expect(plan).toMatchObject({ stages: ['s'] })
  expect(plan.steps[0]).toMatchObject({ name: 'one', position: { line: 21, column: 5 } })
  expect(problemsOf(TEXT.replace('image: alpine', 'imagee: alpine').replace('priority', 'prioriti'))).toEqual([
    '10:3 error unknown-key "prioriti" is not allowed. Did you mean "priority"?',
    '21:5 error required "image" is required',
    '21:12 warning unknown-key unknown field "imagee" in a freestyle step; it has no effect. Did you mean "image"?',
  ])
})

test('puts the location of steps in another document into the plan (P164)', () => {
  const text = `kind: pipeline\nmetadata: { name: a }\nspec:\n  specTemplate: { location: git, repo: me/app, path: codefresh.yml, revision: main }\n`
  const { document, problems } = readPipelineDocument({ text, file: 'p.yml' })
  expect(formatProblems(problems)).toEqual([])
  expect(document?.source).toEqual({ kind: 'git', repo: 'me/app', path: 'codefresh.yml', revision: 'main' })
  expect(planOf(text)).toMatchObject({
    steps: [],
    source: { location: 'git', repo: 'me/app', path: 'codefresh.yml', revision: 'main' },
  })
})

test('reports missing and invalid settings', () => {
  const problems = (text: string): string[] => formatProblems(readPipelineDocument({ text, file: 'p.yml' }).problems)
  expect(problems('version: 1\nsteps: {}\n')).toEqual(['1:1 error required "kind" is required'])
  expect(problems('kind: pipeline\nmetadata: {}\n')).toEqual([
    '1:1 error required "spec" is required',
    '2:1 error required "name" is required',
  ])
  expect(problems('kind: pipelin\nmetadata: { name: a }\nspec: {}\n')).toEqual([
    '1:7 error invalid-value "kind" must be one of [pipeline]. Current value: pipelin. Did you mean "pipeline"?',
  ])
  expect(
    problems(
      'kind: pipeline\nmetadata: { name: a }\nspec:\n  concurrency: -1\n  variables: [{ value: x }]\n  specTemplate: { location: git, url: x }\n',
    ),
  ).toEqual([
    '4:16 error invalid-value "concurrency" must be at least 0. Current value: -1',
    '5:15 error required "key" is required',
    '6:3 error required "repo" is required',
    '6:3 error required "path" is required',
    '6:39 error not-allowed "url" is not allowed with this "location"',
  ])
  expect(problems('')).toEqual(['1:1 error wrong-type the document is empty'])
})

test('returns the kind of a document without reading the rest', () => {
  expect([TEXT, 'version: 1\nsteps: {}\n', 'kind: context\n', '[]', '{'].map(documentKind)).toEqual([
    'pipeline',
    'inline',
    'context',
    undefined,
    undefined,
  ])
})
