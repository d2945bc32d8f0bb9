import { expect, test } from 'vitest'
import { cpuMs } from '../test/cpu-time.ts'
import { freestyle, serial, step } from '../test/plans.ts'
import type { Plan, When } from './plan.ts'
import { previewPlan } from './preview.ts'

function condition(text: string): When {
  return { condition: { all: { it: text } } }
}

function forecasts(plan: Plan, context: Parameters<typeof previewPlan>[1] = {}): string[] {
  return previewPlan(plan, context).steps.map(({ name, forecast, on }) => [name, forecast, ...on].join(' '))
}

const main = { variables: [{ level: 'system' as const, variables: { CF_BRANCH: { value: 'main' } } }] }

test('conditions on variables and branches are judged, those on results tell what they depend on', () => {
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

test('what is left out takes its hooks and its children along, and is a known result for others', () => {
  const plan = serial([
    step('g', { when: condition('false') }),
    step('x', { parent: 'g' }),
    step('x.on_finish', { hook: { moment: 'on_finish', of: 'x' } }),
    step('then', { when: { steps: { match: 'all', of: [{ name: 'g', on: ['skipped'] }] } } }),
    step('else', { when: { steps: { match: 'all', of: [{ name: 'g', on: ['success'] }] } } }),
  ])
  expect(forecasts(plan)).toEqual(['g skipped', 'x skipped', 'x.on_finish skipped', 'then runs', 'else skipped'])
})

test('hooks tell when they run', () => {
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

test('a variable that a step exports is not known before that step', () => {
  const plan = serial([
    step('make', { action: freestyle({ commands: ['cf_export --mask VERSION="1 2" OTHER=3', 'echo cf_export'] }) }),
    step('use', { when: condition("'${{VERSION}}' == '1'") }),
    step('other', { when: condition("'${{OTHER}}' == '1'") }),
    step('free', { when: condition("'${{UNKNOWN}}' == '1'") }),
  ])
  expect(forecasts(plan)).toEqual(['make runs', 'use depends make', 'other depends make', 'free skipped'])
})

test('chosen steps alone run', () => {
  const plan = serial([step('a'), step('b')])
  expect(forecasts(plan, { only: ['b'] })).toEqual(['a skipped', 'b runs'])
  expect(forecasts(plan, { skip: ['b'] })).toEqual(['a runs', 'b skipped'])
})

test('each variable tells where it comes from and what takes its place; secrets tell no value', () => {
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

test('images are told once, with who makes and who uses them', () => {
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

test('a plan of a thousand steps is told in a fraction of a second', () => {
  const plan: Plan = {
    ...serial([]),
    mode: 'parallel',
    steps: Array.from({ length: 1_000 }, (_, index) =>
      step(`s${index}`, {
        when: index === 0 ? {} : condition(`steps.s${index >> 1}.result == 'success' && '\${{CF_BRANCH}}' == 'main'`),
      }),
    ),
    ...main,
  }
  expect(cpuMs(() => previewPlan(plan))).toBeLessThan(1_000)
})
