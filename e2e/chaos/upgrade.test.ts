/** Rolling upgrades from the previous version of the server to this one, back, and again to this one (ADR 0089). */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startPostgres } from '../support/postgres.ts'
import { openPreviousVersion } from '../support/previous-version.ts'
import { chaosConfig } from './config.ts'
import { upgradeOnPostgres, upgradeOnSqlite } from './driver/plans.ts'
import { missedFaults, report } from './driver/report.ts'
import { runChaos, type ChaosPlan } from './driver/run.ts'

// Both mostly wait, so they run in parallel.
async function expectNothingLost(name: string, plan: ChaosPlan): Promise<void> {
  const result = await runChaos(plan)
  console.log(report(name, result))
  expect(result.violations).toEqual([])
  expect(result.crashes).toEqual([])
  expect(missedFaults(result, plan.least)).toEqual([])
}

const serverOf = ({ folder }: { folder: string }): string => join(folder, 'e2e/chaos/processes/server.ts')

test.concurrent('two replicas are upgraded one after the other, downgraded and upgraded again while builds run, and nothing is lost', async () => {
  await using previous = await openPreviousVersion()
  await using postgres = await startPostgres()
  const plan = upgradeOnPostgres(chaosConfig.seed + 6, chaosConfig.scale, { postgres, previous: serverOf(previous) })
  await expectNothingLost('upgrade on PostgreSQL, two replicas', plan)
})

test.concurrent('the server of an SQLite database is upgraded, downgraded and upgraded again while builds run, and nothing is lost', async () => {
  await using previous = await openPreviousVersion()
  const plan = upgradeOnSqlite(chaosConfig.seed + 7, chaosConfig.scale, serverOf(previous))
  await expectNothingLost('upgrade on SQLite', plan)
})
