/** The kinds of chaos runs, shared by the tests and the long loop. */
import { randomBytes } from 'node:crypto'
import { defined } from '@windlass/kit/defined'
import type { Bucket } from '../../support/log-bucket.ts'
import type { Postgres } from '../../support/postgres.ts'
import { runProgram } from '../../support/process.ts'
import { programFile } from '../../support/programs.ts'
import type { FakeScript } from '../../support/fake-engines/index.ts'
import type { Call, Verdict } from '../faults/http-proxy.ts'
import type { Random } from '../faults/random.ts'
import { STORM } from '../faults/tcp-proxy.ts'
import type { Outage } from './outages.ts'
import type { ChaosPlan } from './run.ts'
import { FAST } from './stage.ts'

/** Engines that crash on their own, some of them before their first call. Half of the crashes are not reported. */
const MORTAL: Partial<FakeScript> = {
  crashChance: { 'before-claim': 0.03, 'after-claim': 0.01, 'before-finish': 0.01 },
  silentChance: 0.5,
}

/** Few steps have long output, because it takes more time than everything else. */
const LONG_SHARE = 0.02

/** Returns the least numbers of builds for a run with fewer builds. Faults do not depend on the number of builds: a run continues until they have hit. */
function ended<K extends string>(scale: number, least: Readonly<Record<K, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries<number>(least).map(([what, count]) => [what, Math.ceil(count * Math.min(scale, 1))]))
}

/** 150 builds in about 20 seconds, times `scale`, while server, agent and engines are killed about every 0.9 s, or every two engines. SQLite. */
export function killsOnSqlite(seed: number, scale: number): ChaosPlan {
  return {
    seed,
    builds: 150 * scale,
    loadMs: 20_000 * scale,
    replicas: 1,
    script: MORTAL,
    least: { 'killed server': 4, 'killed agent': 4, 'killed engine': 5, ...ended(scale, { success: 50, unharmed: 20 }) },
    kills: { everyMs: [300, 1_500], enginesPerKill: 2, victims: ['server', 'agent', 'engine', 'engine'] },
  }
}

/** As `killsOnSqlite`, on two replicas behind a balancer with clocks a minute apart, two agents, and PostgreSQL as a further target. */
export function killsOnPostgres(seed: number, scale: number, postgres: Postgres): ChaosPlan {
  return {
    seed,
    builds: 150 * scale,
    loadMs: 20_000 * scale,
    replicas: 2,
    agents: 2,
    skewMs: [0, 60_000],
    script: { ...MORTAL, longShare: LONG_SHARE },
    databaseUrl: postgres.url,
    least: {
      'killed server': 4,
      'killed agent': 2,
      'killed engine': 4,
      'killed database': 2,
      framesAhead: 10,
      ...ended(scale, { success: 50, unharmed: 20 }),
    },
    dump: () => dump(postgres),
    kills: {
      everyMs: [300, 1_500],
      enginesPerKill: 2,
      victims: ['server', 'server', 'agent', 'engine', 'engine', 'engine', 'database'],
      database: { start: () => postgres.start(), kill: () => postgres.kill9().then(() => true) },
    },
  }
}

/**
 * 60 builds times `scale` in at least 40 seconds, so that the first ones are removed while others run, with fewer kills. Logs are deleted 15 s after the
 * end of their build, and builds after 20 s. A build
 * must be read before its log may go, so the servers have to answer most of the time.
 */
export function retentionOnSqlite(seed: number, scale: number): ChaosPlan {
  return {
    seed,
    builds: 60 * scale,
    loadMs: 40_000 * Math.max(scale, 1),
    replicas: 1,
    script: MORTAL,
    retention: { logMs: 15_000, buildMs: 20_000 },
    least: { 'killed server': 1, ...ended(scale, { success: 10, 'removed builds': 10 }) },
    kills: { everyMs: [4_000, 8_000], victims: ['server', 'engine', 'agent'] },
  }
}

/**
 * Outages of four to `longest` times the engine timeout: all servers away, the network away, the only server frozen. There are no other kills, so no
 * build may lose an attempt, except for engines that no server could hear. With the default periods (45 s) this takes three minutes and more.
 */
export function outagesOnSqlite(seed: number, scale: number, longest = 4): ChaosPlan {
  const kinds = ['servers away', 'network away', 'server frozen'] as const
  return { ...outages(seed, scale, { kinds, longest }), replicas: 1 }
}

/** The same on two replicas with clocks a minute apart, with two agents, and a database that freezes and fails over. */
export function outagesOnPostgres(
  seed: number,
  scale: number,
  { postgres, longest = 4 }: { postgres: Postgres; longest?: number },
): ChaosPlan {
  const kinds = ['server frozen', 'database frozen', 'database read-only'] as const
  const plan = outages(seed, scale, { kinds, longest, database: postgres })
  return { ...plan, replicas: 2, agents: 2, skewMs: [60_000, 0], databaseUrl: postgres.url, dump: () => dump(postgres) }
}

interface Outages {
  readonly kinds: readonly Outage[]
  readonly longest: number
  readonly database?: Postgres
}

function outages(seed: number, scale: number, { kinds, longest, database }: Outages): Omit<ChaosPlan, 'replicas'> {
  const forMs = [4 * DEAD_MS, Math.max(longest, 4) * DEAD_MS] as const
  const pauseMs = [1_000, 3_000] as const
  const seconds = (kinds.length * (forMs[0] + forMs[1] + pauseMs[0] + pauseMs[1])) / 2_000
  return {
    seed,
    builds: Math.ceil(seconds * scale),
    loadMs: seconds * 1_000 * Math.max(scale, 1),
    // Long enough for faults in the middle of steps.
    script: { stepMs: [50, 2_000] },
    // Longer than any outage, as 15 minutes are with the default settings.
    electedMs: 20 * DEAD_MS,
    outages: { kinds, forMs, pauseMs, ...defined({ database }) },
    least: { ...Object.fromEntries(kinds.map((kind) => [`outage: ${kind}`, 1])), unharmed: 20 },
  }
}

const DEAD_MS = FAST.deadMs ?? 0

function dump({ url }: Postgres): Promise<string> {
  return runProgram('pg_dump', ['--data-only', url], { maxBuffer: 1 << 30 })
}

/**
 * Faults of the agent only: it is killed about three times a second, and sometimes frozen for longer than its leases, while 120 builds run. No build
 * may fail because of it, and none may run twice. Engines are not killed. The server uses a long engine timeout, because all engines share one
 * process here, and a busy machine can suspend it for longer than `FAST` allows.
 */
export function agentTrouble(seed: number, scale: number): ChaosPlan {
  return {
    seed,
    builds: 120 * scale,
    loadMs: 12_000 * scale,
    replicas: 1,
    timings: { ...FAST, suspectMs: 60_000, deadMs: 120_000 },
    electedMs: 120_000,
    least: { 'killed agent': 10, 'froze agent': 1, ...ended(scale, { success: 50, unharmed: 20 }) },
    kills: { everyMs: [100, 500], victims: ['agent'], downMs: [0, 200], freeze: { every: 10, forMs: [2_500, 4_000] } },
  }
}

/** The same on three replicas without a shared folder, whose logs are in a bucket. */
export function killsOnBucket(
  seed: number,
  scale: number,
  { postgres, bucket }: { postgres: Postgres; bucket: Bucket },
): ChaosPlan {
  const { kills, ...plan } = killsOnPostgres(seed, scale, postgres)
  return {
    ...plan,
    replicas: 3,
    apart: { ...bucket.options, masterKey: randomBytes(32).toString('base64'), bootstrapCode: randomBytes(16).toString('hex') },
    ...defined({
      kills: kills && { ...kills, victims: ['server', 'server', 'server', 'agent', 'engine', 'engine', 'database'] },
    }),
    dump: async () => (await dump(postgres)) + (await bucket.readAll()),
  }
}

const UPGRADE = { pauseMs: [4_000, 6_000], mixedMs: [2_000, 4_000] } as const

/** 90 builds while two replicas with clocks a minute apart are replaced by this version, by the previous one, and again by this one. */
export function upgradeOnPostgres(
  seed: number,
  scale: number,
  { postgres, previous }: { postgres: Postgres; previous: string },
): ChaosPlan {
  const plan = upgradeOnSqlite(seed, scale, previous)
  const least = { ...plan.least, 'replaced server': 6 }
  return { ...plan, least, replicas: 2, skewMs: [60_000, 0], databaseUrl: postgres.url, dump: () => dump(postgres) }
}

/** The same with a single server. */
export function upgradeOnSqlite(seed: number, scale: number, previous: string): ChaosPlan {
  const current = programFile('chaos-server')
  return {
    seed,
    builds: Math.ceil(180 * scale),
    loadMs: 30_000 * Math.max(scale, 1),
    replicas: 1,
    // Long enough for steps that run during a replacement.
    script: { stepMs: [50, 2_000] },
    upgrades: { ...UPGRADE, from: previous, to: [current, previous, current] },
    least: { 'replaced server': 3, ...ended(scale, { success: 30, unharmed: 20 }) },
  }
}

/** 150 builds over a network that drops, delays, stalls, repeats and cuts. No process is killed. */
export function badNetwork(seed: number, scale: number): ChaosPlan {
  const least = {
    drops: 20,
    delays: 20,
    stalls: 1,
    lostCalls: 20,
    cutReplies: 20,
    repeated: 100,
    framesAhead: 10,
    ...ended(scale, { success: 30, unharmed: 20, children: 10 }),
  }
  const script = { longShare: LONG_SHARE }
  return {
    seed,
    builds: 150 * scale,
    loadMs: 25_000 * scale,
    replicas: 1,
    network: STORM,
    http: hurt,
    least,
    script,
    childShare: 0.2,
  }
}

/** Repeats four of ten requests up to three times, loses some, and cuts the responses of some that were carried out. */
function hurt(call: Call, random: Random): Verdict {
  if (random.chance(0.02)) return { kind: 'lose' }
  if (random.chance(0.03)) return { kind: 'cut-reply' }
  // The stream of a follower has no end to wait for.
  const isStream = call.path.includes('/follow')
  return random.chance(0.4) && !isStream ? { kind: 'repeat', times: random.between(1, 3) } : { kind: 'pass' }
}
