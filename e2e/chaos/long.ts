/**
 * The long loop: `node e2e/chaos/long.ts`. Every round runs each kind of chaos with the next seed; knobs: WINDLASS_SEED (first seed),
 * WINDLASS_CHAOS_ROUNDS, WINDLASS_CHAOS_SCALE. Stops at the first broken promise, with the seed to run it again. Exit code 1 then.
 */
import { startPostgres } from '../support/postgres.ts'
import { chaosConfig } from './config.ts'
import { agentTrouble, badNetwork, killsOnPostgres, killsOnSqlite } from './driver/plans.ts'
import { report } from './driver/report.ts'
import { runChaos, type ChaosResult } from './driver/run.ts'

const total: Record<string, number> = {}

function isClean(name: string, result: ChaosResult): boolean {
  console.log(report(name, result))
  for (const [what, count] of Object.entries(result.landed)) total[what] = (total[what] ?? 0) + count
  return result.violations.length === 0 && result.crashes.length === 0
}

async function runRound(seed: number): Promise<boolean> {
  const { scale } = chaosConfig
  if (!isClean('kills on SQLite', await runChaos(killsOnSqlite(seed, scale)))) return false
  if (!isClean('bad network', await runChaos(badNetwork(seed, scale)))) return false
  if (!isClean('the agent alone', await runChaos(agentTrouble(seed, scale)))) return false
  await using postgres = await startPostgres()
  return isClean('kills on PostgreSQL, two replicas', await runChaos(killsOnPostgres(seed, scale, postgres)))
}

let clean = true
for (let round = 0; clean && round < chaosConfig.rounds; round += 1) {
  console.log(`round ${round + 1} of ${chaosConfig.rounds}, WINDLASS_SEED=${chaosConfig.seed + round}`)
  clean = await runRound(chaosConfig.seed + round)
}
const kills = Object.entries(total).reduce((sum, [what, count]) => sum + (/^(killed|froze)/.test(what) ? count : 0), 0)
console.log(`${JSON.stringify(total)}`)
console.log(
  clean
    ? `no promise broken in ${kills} kills: below ${(300 / kills || 100).toFixed(2)} % per kill (95 %)`
    : 'a promise was broken',
)
process.exit(clean ? 0 : 1)
