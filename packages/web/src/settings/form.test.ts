import type { Pipeline } from '@windlass/protocol'
import { PipelineSettings } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { findWrong, readForm, writeForm } from './form.ts'

const PIPELINE: Pipeline = {
  id: '0'.repeat(24),
  name: 'demo/app',
  document: 'steps: {}',
  variables: [
    { key: 'PLAIN', value: 'x', encrypted: false },
    { key: 'TOKEN', value: '*****', encrypted: true },
  ],
  contexts: ['shared'],
  concurrency: 2,
  priority: 3,
  settings: PipelineSettings.parse({
    buildMs: 600_000,
    labels: { tags: ['a'] },
    terminationPolicy: [
      { type: 'annotation', event: 'onCreate', key: 'env' },
      { type: 'branch', ignoreTrigger: true, branchName: 'main' },
    ],
  }),
  revision: 4,
  createdAt: 0,
  updatedAt: 0,
}

test('a form that is not changed stores the same pipeline', () => {
  const { id: _id, revision: _revision, createdAt: _created, updatedAt: _updated, ...input } = PIPELINE
  const written = JSON.parse(JSON.stringify(writeForm(PIPELINE, readForm(PIPELINE), [])))
  expect(written).toEqual({
    ...input,
    settings: { ...input.settings, terminationPolicy: input.settings.terminationPolicy.toReversed() },
  })
})

test('changes are stored, secrets keep their value unless a new one is written', () => {
  const form = readForm(PIPELINE)
  const variables = form.variables.with(1, { key: 'TOKEN', value: 'new', encrypted: true, isKept: false })
  const input = writeForm(PIPELINE, { ...form, variables, concurrency: '', replaces: false, restart: 'no' }, [])
  expect(input.variables[1]).toEqual({ key: 'TOKEN', value: 'new', encrypted: true })
  expect(input.concurrency).toBeUndefined()
  expect(input.settings).toMatchObject({ permitRestartFromFailedSteps: false, labels: { tags: ['a'] } })
  expect(input.settings.terminationPolicy).toEqual([{ type: 'annotation', event: 'onCreate', key: 'env' }])
})

test('what the document writes is left to it', () => {
  const input = writeForm(PIPELINE, readForm(PIPELINE), ['variables', 'concurrency'])
  expect([input.variables, input.concurrency, input.priority]).toEqual([[], undefined, 3])
})

test('numbers and names are checked', () => {
  const form = readForm(PIPELINE)
  expect(findWrong(form)).toBeUndefined()
  expect(findWrong({ ...form, concurrency: '1.5' })).toBe('Builds at a time must be a whole number.')
  expect(findWrong({ ...form, priority: '-5' })).toBeUndefined()
  expect(findWrong({ ...form, variables: [...form.variables, ...form.variables] })).toBe('The variable PLAIN is there twice.')
})
