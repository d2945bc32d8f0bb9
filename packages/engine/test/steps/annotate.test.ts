import type { EngineEvent } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { runPipeline, type PipelineRun } from '../support/run-pipeline.ts'

type Annotated = Extract<EngineEvent, { type: 'annotated' }>

function annotationsOf(run: PipelineRun): Omit<Annotated, 'seq' | 'at' | 'type' | 'step'>[] {
  return run.events.flatMap((event) => {
    if (event.type !== 'annotated') return []
    const { seq: _seq, at: _at, type: _type, step: _step, ...rest } = event
    return [rest]
  })
}

test('sets annotations with values, expressions and files of the volume, and removes them (P134)', async () => {
  const run = await runPipeline(
    `
version: '1.0'
steps:
  measure:
    image: $SHELL
    commands: ['mkdir -p out', 'echo 85.5 > out/coverage.txt', 'echo the-token-1']
    hooks:
      on_success:
        annotations:
          set:
            - annotations:
                - plain
                - note: 'by \${{WHO}}'
                - passed: true
                - builds: 3
                - ok: {evaluate: "steps.measure.result == 'success'"}
                - words: {evaluate: "upper('\${{WHO}}') + '!'"}
                - wrong: {evaluate: "Number('x')"}
                - coverage: file:out/coverage.txt
                - absolute: file:/codefresh/volume/out/coverage.txt
                - missing: file:out/nothing.txt
                - leaked: \${{TOKEN}}
              display: coverage
            - entity_type: pipeline
              entity_id: other/app
              annotations: [{touched: true}]
          unset:
            - annotations: [old]
`,
    { variables: { WHO: 'ann' }, secrets: { TOKEN: 'the-token-1' } },
  )
  expect(run.outcome).toMatchObject({ status: 'success' })
  expect(annotationsOf(run)).toEqual([
    {
      entity: 'build',
      kind: 'annotation',
      unset: [],
      display: 'coverage',
      set: {
        plain: '',
        note: 'by ann',
        passed: true,
        builds: 3,
        ok: true,
        words: 'ANN!',
        wrong: expect.stringMatching(/^error: /),
        coverage: '85.5',
        absolute: '85.5',
        missing: 'file:out/nothing.txt',
        leaked: expect.not.stringContaining('the-token-1'),
      },
    },
    { entity: 'pipeline', id: 'other/app', kind: 'annotation', unset: [], set: { touched: true } },
    { entity: 'build', kind: 'annotation', unset: ['old'], set: {} },
  ])
  const log = run.events.flatMap((event) => (event.type === 'step.started' ? [run.log(event.step)] : [])).join('')
  expect(log).toContain('Annotation "wrong" cannot be evaluated')
  expect(log).toContain('There is no file out/nothing.txt')
})
