import { expect, test } from 'vitest'
import { chaosConfig } from './config.ts'
import { expectLanded, report } from './driver/report.ts'
import { runChaos } from './driver/run.ts'
import { startPostgres } from '../support/postgres.ts'
import { runProgram } from '../support/process.ts'

test('kill -9 of server, agent and engines at random moments breaks no promise on SQLite', async () => {
  const result = await runChaos({
    seed: chaosConfig.seed,
    builds: 300 * chaosConfig.scale,
    loadMs: 40_000 * chaosConfig.scale,
    replicas: 1,
    kills: { everyMs: [200, 1_200], victims: ['server', 'agent', 'engine', 'engine'] },
  })
  report('kills on SQLite', result)
  expectLanded(result, { 'killed server': 5, 'killed agent': 5, 'killed engine': 5, success: 50 })
  expect(result.violations).toEqual([])
})

test('kill -9 of either replica, agent, engines and PostgreSQL at random moments breaks no promise', async () => {
  await using postgres = await startPostgres()
  const result = await runChaos({
    seed: chaosConfig.seed + 1,
    builds: 300 * chaosConfig.scale,
    loadMs: 40_000 * chaosConfig.scale,
    replicas: 2,
    databaseUrl: postgres.url,
    dump: () => runProgram('pg_dump', ['--data-only', postgres.url]),
    kills: {
      everyMs: [200, 1_200],
      victims: ['server', 'server', 'agent', 'engine', 'engine', 'engine', 'database'],
      database: { start: () => postgres.start(), kill: () => postgres.kill9().then(() => true) },
    },
  })
  report('kills on PostgreSQL, two replicas', result)
  expectLanded(result, { 'killed server': 5, 'killed agent': 3, 'killed engine': 5, 'killed database': 1, success: 50 })
  expect(result.violations).toEqual([])
})
