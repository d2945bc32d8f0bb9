import { test } from 'vitest'
import { startPostgres } from '../support/postgres.ts'
import { chaosConfig } from './config.ts'
import { outagesOnPostgres, outagesOnSqlite } from './driver/plans.ts'
import { expectSound } from './driver/expect-sound.ts'

// Both mostly wait, so they run in parallel.
test.concurrent('outages of server and network and a frozen server, each longer than a lease, lose no attempt', async () => {
  const plan = outagesOnSqlite(chaosConfig.seed + 4, chaosConfig.scale)
  await expectSound('outages on SQLite', plan)
})

test.concurrent('a frozen replica, a frozen PostgreSQL and a failover to a read-only one violate no invariant', async () => {
  await using postgres = await startPostgres({ isInMemory: true })
  const plan = outagesOnPostgres(chaosConfig.seed + 5, chaosConfig.scale, { postgres })
  await expectSound('outages on PostgreSQL, two replicas', plan)
})
