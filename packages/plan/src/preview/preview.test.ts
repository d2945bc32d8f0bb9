import { expect, test } from 'vitest'
import { growth, LINEAR } from '../../test/cpu-time.ts'
import { freestyle, serial, step } from '../../test/plans.ts'
import type { Plan, When } from '../plan.ts'
import { previewPlan } from './preview.ts'

function condition(text: string): When {
  return { condition: { all: { it: text } } }
}

function forecasts(plan: Plan, context: Parameters<typeof previewPlan>[1] = {}): string[] {
  return previewPlan(plan, context).steps.map(({ name, forecast, on }) => [name, forecast, ...on].join(' '))
}

const main = { variables: [{ level: 'system' as const, variables: { CF_BRANCH: { value: 'main' } } }] }

test('conditions on variables and branches are evaluated, those on results list their steps', () => {
  const plan = serial(
    [
      step('a'),
      step('yes', { when: condition("'${{CF_BRANCH}}' == 'main'") }),
      step('no', { when: { branch: { only: ['/^release/'] } } }),
      step('result', { when: condition("steps.a.result == 'failure'") }),
      step('last', { when: condition("workflow.result == 'failure'") }),
      step('sure', { when: condition("'${{CF_BRANCH}}' == 'main' || steps.a.result == 'failure'") }),
      step('broken', { when: condition('1 / 0 == 1') }),
    ],
    main,
  )
  expect(forecasts(plan)).toEqual([
    'a runs',
    'yes runs',
    'no skipped',
    'result depends a',
    'last depends workflow.result',
    'sure runs',
    'broken fails',
  ])
})

test('a skipped step skips its hooks and children, and is a known result for others', () => {
  const plan = serial([
    step('g', { when: condition('false') }),
    step('x', { parent: 'g' }),
    step('x.on_finish', { hook: { moment: 'on_finish', of: 'x' } }),
    step('then', { when: { steps: { match: 'all', of: [{ name: 'g', on: ['skipped'] }] } } }),
    step('else', { when: { steps: { match: 'all', of: [{ name: 'g', on: ['success'] }] } } }),
  ])
  expect(forecasts(plan)).toEqual(['g skipped', 'x skipped', 'x.on_finish skipped', 'then runs', 'else skipped'])
})

test('hooks show when they run', () => {
  const plan = serial([
    step('a'),
    step('a.on_elected', { hook: { moment: 'on_elected', of: 'a' } }),
    step('a.on_fail', { hook: { moment: 'on_fail', of: 'a' } }),
    step('.on_success', { hook: { moment: 'on_success' } }),
    step('.on_finish', { hook: { moment: 'on_finish' } }),
  ])
  expect(forecasts(plan)).toEqual([
    'a runs',
    'a.on_elected runs',
    'a.on_fail depends a',
    '.on_success depends workflow.result',
    '.on_finish runs',
  ])
})

test('an exported variable is not known before its step', () => {
  const plan = serial([
    step('make', { action: freestyle({ commands: ['cf_export --mask VERSION="1 2" OTHER=3', 'echo cf_export'] }) }),
    step('use', { when: condition("'${{VERSION}}' == '1'") }),
    step('other', { when: condition("'${{OTHER}}' == '1'") }),
    step('free', { when: condition("'${{UNKNOWN}}' == '1'") }),
  ])
  expect(forecasts(plan)).toEqual(['make runs', 'use depends make', 'other depends make', 'free skipped'])
})

test('only selected steps run', () => {
  const plan = serial([step('a'), step('b')])
  expect(forecasts(plan, { only: ['b'] })).toEqual(['a skipped', 'b runs'])
  expect(forecasts(plan, { skip: ['b'] })).toEqual(['a runs', 'b skipped'])
})

test('each variable shows its source and what overrides it, and secrets show no value', () => {
  const plan = serial([], {
    variables: [
      { level: 'system', variables: { CF_BUILD_ID: { value: '1' } } },
      { level: 'pipeline', source: 'app', variables: { A: { value: 'low' }, S: { secret: 'pipeline/S' } } },
      { level: 'build', variables: { A: { value: '${{B}}' }, B: { value: 'b' }, CF_BUILD_ID: { value: 'mine' } } },
    ],
  })
  expect(previewPlan(plan).variables).toEqual([
    { name: 'A', level: 'build', value: 'b', isSecret: false },
    { name: 'A', level: 'pipeline', source: 'app', value: 'low', isSecret: false, overriddenBy: 'build' },
    { name: 'B', level: 'build', value: 'b', isSecret: false },
    { name: 'CF_BUILD_ID', level: 'system', value: '1', isSecret: false },
    { name: 'CF_BUILD_ID', level: 'build', value: 'mine', isSecret: false, overriddenBy: 'system' },
    { name: 'S', level: 'pipeline', source: 'app', isSecret: true },
  ])
})

test('lists each image once, with the step that builds it and the steps that use it', () => {
  const build = { kind: 'push', candidate: '', tags: [] } as const
  const plan = serial(
    [
      step('made', { action: build }),
      step('a', { action: freestyle({ image: 'node:${{V}}' }) }),
      step('b', { action: freestyle({ image: '${{made}}' }) }),
      step('c', { action: freestyle({ image: 'node:${{V}}' }) }),
      step('out', { action: freestyle({ image: 'never' }), when: condition('false') }),
    ],
    { variables: [{ level: 'build', variables: { V: { value: '20' } } }] },
  )
  expect(previewPlan(plan).images).toEqual([
    { image: 'node:20', steps: ['a', 'c'] },
    { image: '${{made}}', madeBy: 'made', steps: ['b'] },
  ])
})

test('lists the images of compositions (P071)', () => {
  const rest = { variables: [], registryContexts: [] }
  const compose = { inline: { services: { db: { image: 'postgres:17' }, built: { build: '.' } } } }
  const plan = serial([
    step('test', {
      action: { kind: 'composition', compose, candidates: { it: { image: 'node:24' } }, addVolume: false, ...rest },
    }),
    step('up', { action: { kind: 'launch-composition', compose, ...rest } }),
    step('file', { action: { kind: 'launch-composition', compose: { path: 'compose.yml' }, ...rest } }),
  ])
  expect(previewPlan(plan).images).toEqual([
    { image: 'postgres:17', steps: ['test', 'up'] },
    { image: 'node:24', steps: ['test'] },
  ])
})

test('a preview takes linear time in the number of steps', () => {
  const planOf = (steps: number): Plan => ({
    ...serial([]),
    mode: 'parallel',
    steps: Array.from({ length: steps }, (_, index) =>
      step(`s${index}`, {
        when: index === 0 ? {} : condition(`steps.s${index >> 1}.result == 'success' && '\${{CF_BRANCH}}' == 'main'`),
      }),
    ),
    ...main,
  })
  // Built ahead and shared: the relations between the steps of a plan are computed once per plan.
  const plans = new Map([250, 2_000].map((steps) => [steps, planOf(steps)]))
  const tell = (steps: number): unknown => previewPlan(plans.get(steps) ?? planOf(0))
  tell(2_000)
  expect(growth(250, tell)).toBeLessThan(LINEAR)
})
