import { expect, test } from 'vitest'
import { chaosConfig } from './config.ts'
import { expectLanded, report } from './driver/report.ts'
import { runChaos } from './driver/run.ts'
import type { Call, Verdict } from './faults/http-proxy.ts'
import type { Random } from './faults/random.ts'
import { STORM } from './faults/tcp-proxy.ts'

/** Repeats four requests of ten up to three times, loses some, and cuts the answers of some that were carried out. */
function hurt(call: Call, random: Random): Verdict {
  if (random.chance(0.02)) return { kind: 'lose' }
  if (random.chance(0.03)) return { kind: 'cut-reply' }
  // A follower's stream has no end to wait for.
  const isStream = call.path.includes('/feed')
  return random.chance(0.4) && !isStream ? { kind: 'repeat', times: random.between(1, 3) } : { kind: 'pass' }
}

test('a network that drops, delays, repeats and cuts breaks no promise', async () => {
  const result = await runChaos({
    seed: chaosConfig.seed + 2,
    builds: 150 * chaosConfig.scale,
    loadMs: 25_000 * chaosConfig.scale,
    replicas: 1,
    network: STORM,
    http: hurt,
    cancelReachMs: 10_000,
  })
  report('network', result)
  expectLanded(result, { drops: 20, delays: 20, stalls: 1, lost: 20, cutReplies: 20, repeated: 100, success: 30 })
  expect(result.violations).toEqual([])
})
