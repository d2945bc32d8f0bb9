import { test } from 'vitest'
import { openBucket } from '../support/log-bucket.ts'
import { startMoto } from '../support/moto.ts'
import { startPostgres } from '../support/postgres.ts'
import { chaosConfig } from './config.ts'
import { killsOnBucket, killsOnPostgres } from './driver/plans.ts'
import { expectSound } from './driver/expect-sound.ts'

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
