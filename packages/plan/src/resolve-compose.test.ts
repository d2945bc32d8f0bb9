import { expect, test } from 'vitest'
import type { CompositionAction, Plan } from './plan.ts'
import { fillComposition, fillDeploy } from './resolve-compose.ts'
import { buildScope } from './scope.ts'
import { StepFields, type Notes } from './step-fields.ts'

const plan: Plan = {
  planVersion: 1,
  mode: 'serial',
  stages: [],
  failFast: true,
  strictFailFast: false,
  steps: [],
  variables: [{ level: 'build', variables: { PASSWORD: { value: 'a$b$$c${D}' }, NEST: { value: '<${{PASSWORD}}>' } } }],
}

function fieldsOf(): StepFields {
  const notes: Notes = { problems: [], unresolved: new Set() }
  return new StepFields(buildScope({ plan, snapshot: { steps: {}, exports: [] } }), notes)
}

const composition = (part: Partial<CompositionAction>): CompositionAction => ({
  kind: 'composition',
  compose: { inline: {} },
  candidates: {},
  variables: [],
  registryContexts: [],
  addVolume: false,
  ...part,
})

test('P069: compose sees the variables of the author alone: a dollar in a value stays a dollar', () => {
  const action = composition({
    compose: {
      inline: { services: { db: { environment: { A: '${{PASSWORD}}', B: '${COMPOSE} ${{NEST}}', C: '${{UNKNOWN}}' } } } },
    },
    candidates: { test: { command: 'echo ${{PASSWORD}} $${HOME}' } },
  })
  const filled = fillComposition(action, fieldsOf())
  expect(filled.compose).toEqual({
    inline: {
      services: { db: { environment: { A: 'a$$b$$$$c$${D}', B: '${COMPOSE} <a$$b$$$$c$${D}>', C: '$${{UNKNOWN}}' } } },
    },
  })
  expect(filled.candidates).toEqual({ test: { command: 'echo a$$b$$$$c$${D} $${HOME}' } })
})

test('P068: the path of a compose file starts at the working directory', () => {
  const at = (path: string, workingDirectory?: string) =>
    fillComposition(composition({ compose: { path }, ...(workingDirectory !== undefined && { workingDirectory }) }), fieldsOf())
      .compose
  expect(at('./compose.yml')).toEqual({ path: '/codefresh/volume/compose.yml' })
  expect(at('deep/compose.yml', 'app')).toEqual({ path: '/codefresh/volume/app/deep/compose.yml' })
  expect(at('/codefresh/volume/x.yml')).toEqual({ path: '/codefresh/volume/x.yml' })
})

test('P072: the time limit of a roll-out is a number of seconds', () => {
  const fill = (rolloutTimeout: string) => {
    const fields = fieldsOf()
    const target = { service: 'web' }
    const filled = fillDeploy({ kind: 'deploy', cluster: 'c', namespace: 'n', target, rolloutTimeout }, fields)
    return { ms: filled.rolloutTimeoutMs, problems: fields.notes.problems.map(({ message }) => message) }
  }
  expect(fill('90')).toEqual({ ms: 90_000, problems: [] })
  expect(fill('soon').problems).toEqual(['"timeout" of a deploy step must be a number of seconds'])
})
