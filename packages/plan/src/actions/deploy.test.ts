import { expect, test } from 'vitest'
import { serial, step } from '../../test/plans.ts'
import { emptySnapshot } from '../state/fold.ts'
import { buildScope } from '../expression/scope.ts'
import { StepFields, type Notes } from '../fields/step-fields.ts'
import { deploy, type DeployAction } from './deploy.ts'

const action = (part: Partial<DeployAction>): DeployAction => ({
  kind: 'deploy',
  cluster: 'c',
  namespace: 'n',
  target: { service: 'web' },
  rolloutTimeout: '120',
  ...part,
})

/** Returns the fields of a part of the typed step `release`, beside its part `image`. */
function fieldsOf(): StepFields {
  const typed = { type: 'release', version: '1.0.0', arguments: {} }
  const plan = serial([
    step('release', { action: { kind: 'group', mode: 'serial', typed } }),
    step('release.image', { parent: 'release' }),
    step('release.roll', { parent: 'release' }),
  ])
  const notes: Notes = { problems: [], unresolved: new Set() }
  return new StepFields(buildScope({ plan, snapshot: emptySnapshot(plan), step: 'release.roll' }), notes)
}

test('the timeout of a rollout is a number of seconds (P072)', () => {
  const fill = (rolloutTimeout: string) => {
    const fields = fieldsOf()
    const filled = deploy.resolve(action({ rolloutTimeout }), fields)
    return { ms: filled.rolloutTimeoutMs, problems: fields.notes.problems.map(({ message }) => message) }
  }
  expect(fill('90')).toEqual({ ms: 90_000, problems: [] })
  expect(fill('soon').problems).toEqual(['"timeout" of a deploy step must be a number of seconds'])
})

test('finds the step of a candidate inside a typed step by its full name (P072)', () => {
  const stepOf = (image: string): string | undefined => {
    const { target } = deploy.resolve(action({ target: { service: 'web', candidate: { image, registry: 'hub' } } }), fieldsOf())
    return 'service' in target ? target.candidate?.step : undefined
  }
  expect([stepOf('${{image}}'), stepOf('${{steps.image.imageId}}'), stepOf('app:1')]).toEqual([
    'release.image',
    'release.image',
    undefined,
  ])
})
