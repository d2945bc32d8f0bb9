/**
 * The long loop: `node e2e/chaos/long.ts`. Every round runs each kind of chaos with the next seed. Settings: WINDLASS_SEED (first seed),
 * WINDLASS_CHAOS_ROUNDS, WINDLASS_CHAOS_SCALE, WINDLASS_CHAOS_MINUTES, WINDLASS_CHAOS_LONGEST. Stops at the first violation and prints the seed that
 * repeats it. Starts no new round after its time. Prints a table at the end. Exit code 1 after a violation.
 */
import { startPostgres } from '../support/postgres.ts'
import { chaosConfig } from './config.ts'
import {
  agentTrouble,
  badNetwork,
  killsOnPostgres,
  killsOnSqlite,
  outagesOnPostgres,
  outagesOnSqlite,
  retentionOnSqlite,
} from './driver/plans.ts'
import { lostFor, report, toTable, type Row } from './driver/report.ts'
import { runChaos, type ChaosPlan } from './driver/run.ts'

const { scale, rounds, minutes, longest } = chaosConfig
const endsAt = performance.now() + minutes * 60_000

type MakePlan = (seed: number) => Promise<{ plan: ChaosPlan; close?: () => Promise<void> }>

async function onPostgres(make: (postgres: Awaited<ReturnType<typeof startPostgres>>) => ChaosPlan): ReturnType<MakePlan> {
  const postgres = await startPostgres({ isInMemory: true })
  return { plan: make(postgres), close: () => postgres.close() }
}

const KINDS: Readonly<Record<string, MakePlan>> = {
  'outages, SQLite': async (seed) => ({ plan: outagesOnSqlite(seed, scale, longest) }),
  'outages, PostgreSQL': (seed) => onPostgres((postgres) => outagesOnPostgres(seed, scale, { postgres, longest })),
  'kills, SQLite': async (seed) => ({ plan: killsOnSqlite(seed, scale) }),
  'retention, SQLite': async (seed) => ({ plan: retentionOnSqlite(seed, scale) }),
  'kills, PostgreSQL': (seed) => onPostgres((postgres) => killsOnPostgres(seed, scale, postgres)),
  'bad network': async (seed) => ({ plan: badNetwork(seed, scale) }),
  'the agent alone': async (seed) => ({ plan: agentTrouble(seed, scale) }),
}

async function runRound(seed: number, rows: Row[]): Promise<boolean> {
  for (const [name, make] of Object.entries(KINDS)) {
    if (performance.now() > endsAt) return true
    const { plan, close } = await make(seed)
    try {
      const result = await runChaos(plan)
      console.log(report(name, result))
      rows.push({ name, ...result.landed, violations: result.violations.length, seconds: result.seconds, lost: lostFor(result) })
      if (result.violations.length > 0 || result.crashes.length > 0) return false
    } finally {
      await close?.()
    }
  }
  return true
}

const rows: Row[] = []
let clean = true
for (let round = 0; clean && round < rounds && performance.now() < endsAt; round += 1) {
  console.log(`round ${round + 1} of ${rounds}, WINDLASS_SEED=${chaosConfig.seed + round}`)
  clean = await runRound(chaosConfig.seed + round, rows)
}
console.log(toTable(rows))
console.log(clean ? 'no promise broken' : 'a promise was broken')
process.exit(clean ? 0 : 1)
