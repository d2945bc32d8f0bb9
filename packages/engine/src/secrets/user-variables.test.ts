import { buildScope, type Plan } from '@windlass/plan'
import { expect, test } from 'vitest'
import { withUserVariables } from './user-variables.ts'

const plan: Plan = {
  planVersion: 1,
  mode: 'serial',
  stages: [],
  failFast: true,
  strictFailFast: false,
  steps: [],
  variables: [{ level: 'runtime', variables: { ZONE: { value: 'of the plan' } } }],
}

test('passes variables of the cluster to steps at the lowest level and masks those of Secrets (P182)', () => {
  const input = withUserVariables(
    { plan, secrets: { known: 'x' } },
    {
      WINDLASS_USER_VARIABLE_REGION: 'eu',
      WINDLASS_USER_VARIABLE_ZONE: 'of the cluster',
      WINDLASS_USER_SECRET_TOKEN: 'geheim',
      PATH: '/bin',
    },
  )
  const scope = buildScope({ ...input, snapshot: { steps: {}, exports: [] } })
  expect(scope.environment()).toEqual({ REGION: 'eu', ZONE: 'of the plan', TOKEN: 'geheim' })
  expect(Object.values(input.secrets)).toEqual(['x', 'geheim'])
  expect(withUserVariables({ plan, secrets: {} }, { PATH: '/bin' }).plan).toBe(plan)
})
