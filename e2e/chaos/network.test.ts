import { expect, test } from 'vitest'
import { chaosConfig } from './config.ts'
import { badNetwork } from './driver/plans.ts'
import { missedFaults, report } from './driver/report.ts'
import { runChaos } from './driver/run.ts'

test('a network that drops, delays, repeats and cuts calls violates no invariant', async () => {
  const plan = badNetwork(chaosConfig.seed + 2, chaosConfig.scale)
  const result = await runChaos(plan)
  console.log(report('bad network', result))
  expect(result.violations).toEqual([])
  expect(result.crashes).toEqual([])
  expect(missedFaults(result, plan.least)).toEqual([])
})
