/** Rolling upgrades from the previous version of the server to this one, back, and again to this one (ADR 0089). */
import { afterAll, beforeAll, test } from 'vitest'
import { startPostgres } from '../support/postgres.ts'
import { openPreviousVersion, type PreviousVersion } from '../support/previous-version.ts'
import { chaosConfig } from './config.ts'
import { upgradeOnPostgres, upgradeOnSqlite } from './driver/plans.ts'
import { expectSound } from './driver/expect-sound.ts'

let previous: PreviousVersion
beforeAll(async () => {
  previous = await openPreviousVersion()
})
afterAll(() => previous?.[Symbol.asyncDispose]())

// Both mostly wait, so they run in parallel.
test.concurrent('two replicas are upgraded one after the other, downgraded and upgraded again while builds run, and nothing is lost', async () => {
  await using postgres = await startPostgres({ isInMemory: true })
  const plan = upgradeOnPostgres(chaosConfig.seed + 6, chaosConfig.scale, { postgres, previous: previous.chaosServer })
  await expectSound('upgrade on PostgreSQL, two replicas', plan)
})

test.concurrent('the server of an SQLite database is upgraded, downgraded and upgraded again while builds run, and nothing is lost', async () => {
  const plan = upgradeOnSqlite(chaosConfig.seed + 7, chaosConfig.scale, previous.chaosServer)
  await expectSound('upgrade on SQLite', plan)
})
