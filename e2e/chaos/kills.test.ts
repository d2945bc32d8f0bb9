import { REASONS } from '@windlass/plan'
import { expect, test } from 'vitest'
import { chaosConfig } from './config.ts'
import { agentTrouble, killsOnSqlite } from './driver/plans.ts'
import { expectSound } from './driver/expect-sound.ts'

const isInfra = (reason: keyof typeof REASONS | undefined): boolean => reason !== undefined && REASONS[reason].blame === 'infra'

test('random kills of server, agent and engines violate no invariant on SQLite', async () => {
  const plan = killsOnSqlite(chaosConfig.seed, chaosConfig.scale)
  await expectSound('kills on SQLite', plan)
})

test('an agent that is repeatedly killed and frozen fails no build and runs none twice (R-02, R-07)', async () => {
  const plan = agentTrouble(chaosConfig.seed + 3, chaosConfig.scale)
  const result = await expectSound('the agent alone', plan)
  // Only the agent was killed.
  expect(result.history.builds.flatMap(({ attempts }) => attempts).filter(({ reason }) => isInfra(reason))).toEqual([])
})
