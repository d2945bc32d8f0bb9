import { expect, test } from 'vitest'
import { runPipeline } from './support/run-pipeline.ts'

test('P001: one step runs its command and its output is kept', async () => {
  const run = await runPipeline(`
version: '1.0'
steps:
  hello:
    type: freestyle
    image: $SHELL
    commands:
      - echo hi
`)
  expect(run.outcome).toEqual({ status: 'success' })
  expect(run.output('hello')).toBe('hi\n')
})
