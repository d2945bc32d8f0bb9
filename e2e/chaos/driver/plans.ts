/** The kinds of chaos runs, so that the tests and the long loop run the same ones. */
import type { Postgres } from '../../support/postgres.ts'
import { runProgram } from '../../support/process.ts'
import type { Call, Verdict } from '../faults/http-proxy.ts'
import type { Random } from '../faults/random.ts'
import { STORM } from '../faults/tcp-proxy.ts'
import type { ChaosPlan } from './run.ts'

/** 300 builds in about 40 seconds, times `scale`, while server, agent and engines are killed about every 0.7 s. SQLite. */
export function killsOnSqlite(seed: number, scale: number): ChaosPlan {
  return {
    seed,
    builds: 300 * scale,
    loadMs: 40_000 * scale,
    replicas: 1,
    kills: { everyMs: [300, 1_500], victims: ['server', 'agent', 'engine', 'engine'] },
  }
}

/** The same on two replicas behind a balancer, with PostgreSQL among the victims. */
export function killsOnPostgres(seed: number, scale: number, postgres: Postgres): ChaosPlan {
  return {
    seed,
    builds: 300 * scale,
    loadMs: 40_000 * scale,
    replicas: 2,
    databaseUrl: postgres.url,
    dump: () => runProgram('pg_dump', ['--data-only', postgres.url], { maxBuffer: 1 << 30 }),
    kills: {
      everyMs: [300, 1_500],
      victims: ['server', 'server', 'agent', 'engine', 'engine', 'engine', 'database'],
      database: { start: () => postgres.start(), kill: () => postgres.kill9().then(() => true) },
    },
  }
}

/**
 * The agent alone in trouble: killed about three times a second, and now and then frozen for longer than its leases, while 120 builds run.
 * No build may fail of it, and none may run twice.
 */
export function agentTrouble(seed: number, scale: number): ChaosPlan {
  return {
    seed,
    builds: 120 * scale,
    loadMs: 12_000 * scale,
    replicas: 1,
    kills: { everyMs: [100, 500], victims: ['agent'], downMs: [0, 200], freeze: { share: 0.1, forMs: [2_500, 4_000] } },
  }
}

/** 150 builds over a network that drops, delays, stalls, repeats and cuts. Nobody is killed. */
export function badNetwork(seed: number, scale: number): ChaosPlan {
  return { seed, builds: 150 * scale, loadMs: 25_000 * scale, replicas: 1, network: STORM, http: hurt, cancelReachMs: 10_000 }
}

/** Repeats four requests of ten up to three times, loses some, and cuts the answers of some that were carried out. */
function hurt(call: Call, random: Random): Verdict {
  if (random.chance(0.02)) return { kind: 'lose' }
  if (random.chance(0.03)) return { kind: 'cut-reply' }
  // A follower's stream has no end to wait for.
  const isStream = call.path.includes('/follow')
  return random.chance(0.4) && !isStream ? { kind: 'repeat', times: random.between(1, 3) } : { kind: 'pass' }
}
