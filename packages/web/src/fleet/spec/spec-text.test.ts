import { expect, test } from 'vitest'
import { placeProblems, readSpec, writeSpec } from './spec-text.ts'

const TEXT = `extends:
  - system/default
runtimeScheduler:
  labels:
    app.kubernetes.io/name: x
  cluster:
    namespace: builds
    size: 3
`

test('reads YAML and JSON, and writes what it reads', () => {
  const spec = { capacity: 3, runtimeScheduler: { envVars: { A: '1' } } }
  expect(readSpec(JSON.stringify(spec))).toEqual({ spec })
  expect(readSpec(writeSpec(spec))).toEqual({ spec })
  expect(readSpec(writeSpec({}))).toEqual({ spec: {} })
})

test('names the line of a text that is not YAML or not a mapping', () => {
  expect(readSpec('capacity: 3\nruntimeScheduler: {a: 1\n')).toMatchObject({ problems: [{ line: 3 }] })
  expect(readSpec('- 1\n')).toEqual({ problems: [{ line: 1, message: 'The specification is not a mapping.' }] })
})

test.each([
  ['spec.runtimeScheduler.cluster.namespace', 'must be text', 7],
  ['spec.runtimeScheduler.cluster', 'Unrecognized key: "size"', 8],
  ['spec.runtimeScheduler.labels.app.kubernetes.io/name', 'must be text', 5],
  ['spec.runtimeScheduler.cluster.name.first', 'must be text', 6],
  ['spec.dockerDaemonScheduler', 'must be a mapping', 1],
  ['spec', 'is wrong', 1],
])('finds the line of %s: %s', (path, message, line) => {
  expect(placeProblems(TEXT, [{ path, message }])).toEqual([{ line, message: `${path}: ${message}` }])
})
