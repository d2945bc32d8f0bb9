import { expect, test } from 'vitest'
import type { Plan } from '../plan.ts'
import { composition, type CompositionAction } from './composition.ts'
import { buildScope } from '../expression/scope.ts'
import { StepFields, type Notes } from '../fields/step-fields.ts'

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

const action = (part: Partial<CompositionAction>): CompositionAction => ({
  kind: 'composition',
  compose: { inline: {} },
  candidates: {},
  variables: [],
  registryContexts: [],
  addVolume: false,
  ...part,
})

test('compose sees only the variables of the author, and a dollar in a value stays a dollar (P069)', () => {
  const written = action({
    compose: {
      inline: { services: { db: { environment: { A: '${{PASSWORD}}', B: '${COMPOSE} ${{NEST}}', C: '${{UNKNOWN}}' } } } },
    },
    candidates: { test: { command: 'echo ${{PASSWORD}} $${HOME}' } },
  })
  const filled = composition.resolve(written, fieldsOf())
  expect(filled.compose).toEqual({
    inline: {
      services: { db: { environment: { A: 'a$$b$$$$c$${D}', B: '${COMPOSE} <a$$b$$$$c$${D}>', C: '$${{UNKNOWN}}' } } },
    },
  })
  expect(filled.candidates).toEqual({ test: { command: 'echo a$$b$$$$c$${D} $${HOME}' } })
})

test('the path of a compose file is relative to the working directory (P068)', () => {
  const at = (path: string, workingDirectory?: string) =>
    composition.resolve(action({ compose: { path }, ...(workingDirectory !== undefined && { workingDirectory }) }), fieldsOf())
      .compose
  expect(at('./compose.yml')).toEqual({ path: '/codefresh/volume/compose.yml' })
  expect(at('deep/compose.yml', 'app')).toEqual({ path: '/codefresh/volume/app/deep/compose.yml' })
  expect(at('/codefresh/volume/x.yml')).toEqual({ path: '/codefresh/volume/x.yml' })
})
