import { expect, test } from 'vitest'
import { growth, LINEAR } from '../../test/cpu-time.ts'
import { freestyle, serial, step } from '../../test/plans.ts'
import type { Plan } from '../plan.ts'
import { previewPlan } from './preview.ts'

function unresolved(plan: Plan): string[] {
  return (previewPlan(plan).unresolved ?? []).map(({ name, from, steps, variables }) =>
    [name, from, ...steps, ...variables.map((one) => `variable ${one}`)].join(' '),
  )
}

test('lists each variable without a value, where it would come from, and the steps that use it', () => {
  const plan = serial(
    [
      step('clone', { action: freestyle({ image: '${{CF_REPO_OWNER}}/${{ APP }}' }) }),
      step('use', { title: 'of ${{APP}}', action: freestyle({ commands: ['echo ${{APP}} ${{KNOWN}}'] }) }),
    ],
    { variables: [{ level: 'build', variables: { KNOWN: { value: 'x' } } }] },
  )
  expect(unresolved(plan)).toEqual(['APP user clone use', 'CF_REPO_OWNER trigger clone'])
})

test('leaves out secrets, results of steps, exports, and what the engine sets', () => {
  const plan = serial(
    [
      step('make', { action: freestyle({ commands: ['cf_export MADE=1'] }) }),
      step('use', {
        action: freestyle({
          image: '${{make}}',
          commands: [
            'echo ${{SECRET}} ${{secrets.vault.token}} ${{MADE}} ${{steps.make.result}} ${{make.output.X}} ${{workflow.result}}',
            'echo ${{CF_STEP_NAME}} ${{CF_CURRENT_ATTEMPT}} ${{CF_API_KEY}} ${{CF_VOLUME_PATH}} ${{CF_BUILD_URL}} ${{OWN}}',
          ],
          environment: ['OWN=1'],
        }),
      }),
    ],
    { variables: [{ level: 'pipeline', variables: { SECRET: { secret: 'pipeline/SECRET' } } }] },
  )
  expect(unresolved(plan)).toEqual([])
})

test('leaves out steps that do not run, except their conditions', () => {
  const when = { condition: { all: { it: "'${{GONE}}' == 'yes'" } } }
  expect(unresolved(serial([step('no', { when, action: freestyle({ image: 'a:${{TAG}}' }) })]))).toEqual(['GONE user no'])
})

test('finds references in the values of variables', () => {
  const plan = serial([step('a', { action: freestyle({ image: 'a:${{TAG}}' }) })], {
    variables: [{ level: 'pipeline', variables: { TAG: { value: '1-${{CF_SHORT_REVISION}}' } } }],
  })
  expect(unresolved(plan)).toEqual(['CF_SHORT_REVISION trigger a variable TAG'])
})

test('finds references in the services of the build', () => {
  const compose = { inline: { services: { db: { image: 'postgres:${{PG}}' } } } }
  const services = { compose, variables: [], sharedHostNetwork: false }
  expect(unresolved(serial([step('a')], { services }))).toEqual(['PG user services'])
})

test('values that refer to each other in a circle have no other unresolved names', () => {
  const variables = { A: { value: '${{B}} ${{C}}' }, B: { value: '${{A}}' } }
  const plan = serial([step('a', { action: freestyle({ image: '${{A}}' }) })], { variables: [{ level: 'build', variables }] })
  expect(unresolved(plan)).toEqual(['C user a variable A variable B'])
})

test('takes linear time in the number of steps that use a large value', () => {
  const variables = { LARGE: { value: `${'x'.repeat(1_000_000)}\${{LATER}}` } }
  const planOf = (steps: number): Plan =>
    serial(
      Array.from({ length: steps }, (_, n) =>
        step(`s${n}`, { action: freestyle({ commands: ['echo ${{LARGE}}', 'true ${{LARGE}}'] }) }),
      ),
      { variables: [{ level: 'build', variables }] },
    )
  const plans = new Map([250, 2_000].map((steps) => [steps, planOf(steps)]))
  const tell = (steps: number): unknown => previewPlan(plans.get(steps) ?? planOf(0))
  tell(2_000)
  expect(growth(250, tell)).toBeLessThan(LINEAR)
})

test('is absent if every variable has a value', () => {
  expect('unresolved' in previewPlan(serial([step('a')]))).toBe(false)
})
