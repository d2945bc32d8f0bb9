import { expect, test } from 'vitest'
import { startPostgres } from '../support/postgres.ts'
import { chaosConfig } from './config.ts'
import { outagesOnPostgres, outagesOnSqlite } from './driver/plans.ts'
import { missedFaults, report } from './driver/report.ts'
import { runChaos } from './driver/run.ts'

// Both mostly wait, so they run in parallel.
test.concurrent('outages of server and network and a frozen server, each longer than a lease, lose no attempt', async () => {
  const plan = outagesOnSqlite(chaosConfig.seed + 4, chaosConfig.scale)
  const result = await runChaos(plan)
  console.log(report('outages on SQLite', result))
  expect(result.violations).toEqual([])
  expect(result.crashes).toEqual([])
  expect(missedFaults(result, plan.least)).toEqual([])
})

test.concurrent('a frozen replica, a frozen PostgreSQL and a failover to a read-only one violate no invariant', async () => {
  await using postgres = await startPostgres()
  const plan = outagesOnPostgres(chaosConfig.seed + 5, chaosConfig.scale, { postgres })
  const result = await runChaos(plan)
  console.log(report('outages on PostgreSQL, two replicas', result))
  expect(result.violations).toEqual([])
  expect(result.crashes).toEqual([])
  expect(missedFaults(result, plan.least)).toEqual([])
})
