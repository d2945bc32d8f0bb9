import { test } from 'vitest'
import { chaosConfig } from './config.ts'
import { badNetwork } from './driver/plans.ts'
import { expectSound } from './driver/expect-sound.ts'

test('a network that drops, delays, repeats and cuts calls violates no invariant', async () => {
  const plan = badNetwork(chaosConfig.seed + 2, chaosConfig.scale)
  await expectSound('bad network', plan)
})
