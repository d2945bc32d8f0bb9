import { REASONS } from '@windlass/plan'
import { expect, test } from 'vitest'
import { openBucket } from '../support/log-bucket.ts'
import { startMoto } from '../support/moto.ts'
import { startPostgres } from '../support/postgres.ts'
import { chaosConfig } from './config.ts'
import { agentTrouble, killsOnBucket, killsOnPostgres, killsOnSqlite } from './driver/plans.ts'
import { expectSound } from './driver/expect-sound.ts'

const isInfra = (reason: keyof typeof REASONS | undefined): boolean => reason !== undefined && REASONS[reason].blame === 'infra'

test('random kills of server, agent and engines violate no invariant on SQLite', async () => {
  const plan = killsOnSqlite(chaosConfig.seed, chaosConfig.scale)
  await expectSound('kills on SQLite', plan)
})

// In the long form only: the next test has its faults on one replica more, and the outages and upgrades have two replicas with a shared folder.
if (chaosConfig.thorough)
  test('random kills of replicas, agent, engines and PostgreSQL violate no invariant', async () => {
    await using postgres = await startPostgres({ isInMemory: true })
    const plan = killsOnPostgres(chaosConfig.seed + 1, chaosConfig.scale, postgres)
    await expectSound('kills on PostgreSQL, two replicas', plan)
  })

test('random kills of three replicas without a shared folder, whose logs are in a bucket, violate no invariant', async () => {
  await using postgres = await startPostgres({ isInMemory: true })
  await using moto = await startMoto()
  const plan = killsOnBucket(chaosConfig.seed + 8, chaosConfig.scale, { postgres, bucket: await openBucket(moto.url) })
  await expectSound('kills on PostgreSQL and S3, three replicas', plan)
})

test('an agent that is repeatedly killed and frozen fails no build and runs none twice (R-02, R-07)', async () => {
  const plan = agentTrouble(chaosConfig.seed + 3, chaosConfig.scale)
  const result = await expectSound('the agent alone', plan)
  // Only the agent was killed.
  expect(result.history.builds.flatMap(({ attempts }) => attempts).filter(({ reason }) => isInfra(reason))).toEqual([])
})
