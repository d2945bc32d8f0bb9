import { expect, test } from 'vitest'
import { finished, serial, step } from '../../test/plans.ts'
import { emptySnapshot, fold, foldAll } from '../state/fold.ts'
import type { Plan, PlanStep, VariableLayer } from '../plan.ts'
import { VARIABLE_LEVELS } from '../plan.ts'
import { resolveStep } from '../resolve/resolve-step.ts'
import { buildScope } from './scope.ts'
import { freestyle } from '../../test/plans.ts'

const layers: VariableLayer[] = VARIABLE_LEVELS.map((level) => ({
  level,
  variables: { X: { value: level }, [`ONLY_${level}`]: { value: level } },
}))

function planWith(steps: PlanStep[], variables: readonly VariableLayer[]): Plan {
  return serial(steps, { variables })
}

test('variables have the precedence step environment, exports, build, trigger, pipeline, context, project, system, runtime (P119)', () => {
  for (let count = layers.length; count > 0; count -= 1) {
    const plan = planWith([], layers.slice(0, count).toReversed())
    expect(buildScope({ plan, snapshot: emptySnapshot(plan) }).lookup('X')).toBe(VARIABLE_LEVELS[count - 1])
  }
  const plan = planWith(
    [step('a'), step('b', { action: freestyle({ environment: ['X=own', 'Y=${{X}}'], commands: ['${{X}}'] }) })],
    layers,
  )
  const snapshot = fold(
    emptySnapshot(plan),
    finished('a', 1, {
      exports: [
        { name: 'X', value: 'first', secret: false },
        { name: 'X', value: 'exported', secret: false },
      ],
    }),
  )
  const scope = buildScope({ plan, snapshot })
  expect(scope.lookup('X')).toBe('exported')
  const resolved = resolveStep(plan.steps[1] ?? step('none'), scope).step
  expect(resolved?.environment).toMatchObject({ X: 'own', Y: 'exported', ONLY_project: 'project' })
  expect(resolved?.action).toMatchObject({ commands: ['own'] })
})

test('the later of two contexts that define a name wins', () => {
  const context = (source: string): VariableLayer => ({ level: 'context', source, variables: { X: { value: source } } })
  const plan = planWith([], [context('first'), context('second')])
  expect(buildScope({ plan, snapshot: emptySnapshot(plan) }).lookup('X')).toBe('second')
})

test('an export overrides a built-in variable, but not tokens, paths and identities', () => {
  const plan = planWith(
    [step('a')],
    [{ level: 'system', variables: { CF_BRANCH: { value: 'main' }, CF_BUILD_ID: { value: 'b1' } } }],
  )
  const exports = ['CF_BRANCH', 'CF_BUILD_ID', 'CF_API_KEY', 'CF_VOLUME_PATH'].map((name) => ({
    name,
    value: 'mine',
    secret: false,
  }))
  const scope = buildScope({
    plan,
    snapshot: fold(emptySnapshot(plan), finished('a', 1, { exports })),
    builtins: { CF_API_KEY: 'token', CF_VOLUME_PATH: '/v' },
  })
  expect(['CF_BRANCH', 'CF_BUILD_ID', 'CF_API_KEY', 'CF_VOLUME_PATH'].map((name) => scope.lookup(name))).toEqual([
    'mine',
    'b1',
    'token',
    '/v',
  ])
  expect(scope.with({ CF_API_KEY: 'another account' }).lookup('CF_API_KEY')).toBe('another account')
})

test('secrets get their values from the caller, and have none otherwise', () => {
  const plan = planWith([], [{ level: 'pipeline', variables: { TOKEN: { secret: 'pipeline/TOKEN' } } }])
  const snapshot = emptySnapshot(plan)
  expect(buildScope({ plan, snapshot, secrets: { 'pipeline/TOKEN': 's3' } }).lookup('TOKEN')).toBe('s3')
  expect(buildScope({ plan, snapshot }).lookup('TOKEN')).toBeUndefined()
})

test('results, members and outputs of steps have a long and a short form, and members any case style', () => {
  const plan = serial([step('a.b'), step('img', { action: { kind: 'push', candidate: 'x', tags: ['y'] } }), step('next')])
  const snapshot = foldAll(emptySnapshot(plan), [
    finished('img', 2, {
      members: { imageId: 'sha256:1', imageName: 'me/app', imageTagName: 'v1', workingDirectory: '/w' },
      exports: [{ name: 'V', value: '1', secret: false }],
    }),
  ])
  const scope = buildScope({ plan, snapshot, workflowResult: 'failure' })
  const values = [
    'steps.img.result',
    'img.result',
    'steps.img.imageId',
    'steps.img.image-id',
    'steps.img.image_id',
    'steps.img.output.V',
    'steps.img.name',
    'steps.img.type',
    'parentSteps.img',
    'workflow.result',
  ]
  expect(values.map((name) => scope.lookup(name))).toEqual([
    'success',
    'success',
    'sha256:1',
    'sha256:1',
    'sha256:1',
    '1',
    'img',
    'push',
    'sha256:1',
    'failure',
  ])
  for (const name of [
    'steps.img.nope',
    'steps.nope.result',
    'steps.img.output.W',
    'img.constructor',
    'steps.next.workingDirectory',
    'steps',
    'toString',
    '',
  ]) {
    expect([name, scope.lookup(name)]).toEqual([name, undefined])
  }
  expect(scope.lookup('steps.next.result')).toBe('pending')
})

test('the name of a step means its image or its directory, depending on the field', () => {
  const plan = serial([step('make', { action: { kind: 'push', candidate: 'x', tags: ['y'] } })], {
    variables: [{ level: 'build', variables: { make: { value: 'variable' } } }],
  })
  const snapshot = fold(
    emptySnapshot(plan),
    finished('make', 1, { members: { imageName: 'me/app', imageTagName: 'v1', workingDirectory: '/w' } }),
  )
  const scope = buildScope({ plan, snapshot })
  expect([scope.lookup('make'), scope.as('image').lookup('make'), scope.as('directory').lookup('make')]).toEqual([
    'variable',
    'me/app:v1',
    '/w',
  ])
})

test('the environment has all variables substituted, without those that a process cannot hold', () => {
  const variables = { A: { value: 'a ${{B}} ${{NOPE}}' }, B: { value: 'b' }, 'not=a name': { value: 'x' }, NUL: { value: '\0' } }
  const plan = planWith([], [{ level: 'build', variables }])
  expect(buildScope({ plan, snapshot: emptySnapshot(plan) }).environment()).toEqual({ A: 'a b ${{NOPE}}', B: 'b' })
})
