import { expect, test } from 'vitest'
import { chaosConfig } from './config.ts'
import { expectLanded, report } from './driver/report.ts'
import { runChaos } from './driver/run.ts'
import { openPostgres } from './processes/postgres.ts'

test('kill -9 of server, agent and engines at random moments breaks no promise on SQLite', async () => {
  const result = await runChaos({
    seed: chaosConfig.seed,
    builds: chaosConfig.builds ?? 300,
    loadMs: 40_000,
    replicas: 1,
    kills: { everyMs: [200, 1_200], victims: ['server', 'agent', 'engine', 'engine'] },
  })
  report('kills on SQLite', result)
  expectLanded(result, { 'killed server': 5, 'killed agent': 5, 'killed engine': 5, success: 50 })
  expect(result.violations).toEqual([])
})

test('kill -9 of either replica, agent, engines and PostgreSQL at random moments breaks no promise', async () => {
  await using postgres = await openPostgres()
  const result = await runChaos({
    seed: chaosConfig.seed + 1,
    builds: chaosConfig.builds ?? 300,
    loadMs: 40_000,
    replicas: 2,
    databaseUrl: postgres.url,
    dump: () => postgres.dump(),
    kills: {
      everyMs: [200, 1_200],
      victims: ['server', 'server', 'agent', 'engine', 'engine', 'engine', 'database'],
      database: postgres.child,
    },
  })
  report('kills on PostgreSQL, two replicas', result)
  expectLanded(result, { 'killed server': 5, 'killed agent': 3, 'killed engine': 5, 'killed database': 1, success: 50 })
  expect(result.violations).toEqual([])
})
