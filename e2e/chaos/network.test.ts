import { expect, test } from 'vitest'
import { chaosConfig } from './config.ts'
import { badNetwork } from './driver/plans.ts'
import { missedFaults, report } from './driver/report.ts'
import { runChaos } from './driver/run.ts'

test('a network that drops, delays, repeats and cuts breaks no promise', async () => {
  const result = await runChaos(badNetwork(chaosConfig.seed + 2, chaosConfig.scale))
  console.log(report('bad network', result))
  expect(result.violations).toEqual([])
  expect(result.crashes).toEqual([])
  const least = { drops: 20, delays: 20, stalls: 1, lost: 20, cutReplies: 20, repeated: 100, success: 30 }
  expect(missedFaults(result, least)).toEqual([])
})
