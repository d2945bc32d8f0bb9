import { expect, test } from 'vitest'
import { startPostgres } from '../support/postgres.ts'
import { chaosConfig } from './config.ts'
import { killsOnPostgres, killsOnSqlite } from './driver/plans.ts'
import { missedFaults, report } from './driver/report.ts'
import { runChaos } from './driver/run.ts'

test('kill -9 of server, agent and engines at random moments breaks no promise on SQLite', async () => {
  const result = await runChaos(killsOnSqlite(chaosConfig.seed, chaosConfig.scale))
  console.log(report('kills on SQLite', result))
  expect(result.violations).toEqual([])
  expect(result.crashes).toEqual([])
  expect(missedFaults(result, { 'killed server': 4, 'killed agent': 4, 'killed engine': 5, success: 50 })).toEqual([])
})

test('kill -9 of either replica, agent, engines and PostgreSQL at random moments breaks no promise', async () => {
  await using postgres = await startPostgres()
  const result = await runChaos(killsOnPostgres(chaosConfig.seed + 1, chaosConfig.scale, postgres))
  console.log(report('kills on PostgreSQL, two replicas', result))
  expect(result.violations).toEqual([])
  expect(result.crashes).toEqual([])
  const least = { 'killed server': 4, 'killed agent': 2, 'killed engine': 4, 'killed database': 2, success: 50 }
  expect(missedFaults(result, least)).toEqual([])
})
