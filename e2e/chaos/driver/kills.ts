/** Kills at seeded moments. Servers and agents are processes that get SIGKILL and are restarted immediately; engines run inside the fake cluster. */
import type { FakeCluster } from '../../support/fake-engines/index.ts'
import { systemClock as clock } from '@windlass/kit'
import type { Random } from '../faults/random.ts'
import type { Child } from '../processes/child.ts'
import type { Recorder } from './recorder.ts'

export type Victim = 'server' | 'agent' | 'engine' | 'database'

/** A target that can be killed and restarted. */
export type Mortal = Pick<Child, 'start' | 'kill'>

export interface KillPlan {
  /** Pause between two kills. Milliseconds. */
  readonly everyMs: readonly [number, number]
  /** Engines that start between two kills, so that a slow machine has no more kills per build than a fast one. Default 0. */
  readonly enginesPerKill?: number
  /** Targets, killed one after the other. The order is drawn again each time; list a name twice to hit it more often. */
  readonly victims: readonly Victim[]
  /** How long a killed target stays down. Milliseconds. */
  readonly downMs?: readonly [number, number]
  readonly database?: Mortal
  /** Every how many hits a server or agent is frozen instead of killed, from the third one on, and for how long (milliseconds): longer than a lease. */
  readonly freeze?: { readonly every: number; readonly forMs: readonly [number, number] }
}

export type Landed = Record<`killed ${Victim}` | 'froze server' | 'froze agent', number>

export interface KillOptions {
  readonly plan: KillPlan | undefined
  readonly random: Random
  readonly servers: readonly Child[]
  readonly agents: readonly Child[]
  readonly cluster: Pick<FakeCluster, 'running' | 'kill'>
  /** Targets that are down on purpose and must stay down for now. */
  readonly down: ReadonlySet<Mortal>
  readonly recorder: Recorder
  readonly signal: AbortSignal
  /** Whether nobody is killed for now. Default: never. */
  readonly isHeld?: () => boolean
  /** Counter that increases with every kill that hits a live target. */
  readonly landed: Landed
}

export function noKills(): Landed {
  return {
    'killed server': 0,
    'killed agent': 0,
    'killed engine': 0,
    'killed database': 0,
    'froze server': 0,
    'froze agent': 0,
  }
}

/** Kills until the signal aborts, then restarts all targets that are down. */
export async function runKills(options: KillOptions): Promise<void> {
  const { plan, random, signal, landed } = options
  const reviving = new Map<Mortal, Promise<void>>()
  const failures: unknown[] = []
  const deck: Victim[] = []
  /** Hits on servers and agents. Freezes are counted and not drawn, because a slow machine has too few hits for a share. */
  let hits = 0
  const raise = (child: Mortal, downMs: number): void => {
    const revived = revive(child, downMs)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => reviving.delete(child))
    reviving.set(child, revived)
  }
  while (plan !== undefined && !signal.aborted) {
    // A process that exited by itself is restarted, as a supervisor would do. The run reports it.
    for (const child of [...options.servers, ...options.agents])
      if (child.pid === undefined && !reviving.has(child) && !options.down.has(child)) raise(child, 0)
    const before = options.recorder.claims
    await clock.sleep(random.between(...plan.everyMs), signal).catch(() => undefined)
    await untilClaimed(options, before + (plan.enginesPerKill ?? 0))
    if (signal.aborted) break
    if (options.isHeld?.() === true) continue
    if (deck.length === 0) deck.push(...plan.victims)
    const [victim] = deck.splice(random.between(0, deck.length - 1), 1)
    if (victim === 'engine') {
      if (killEngine(options)) landed['killed engine'] += 1
      continue
    }
    const child =
      victim === 'server' ? random.pick(options.servers) : victim === 'agent' ? random.pick(options.agents) : plan.database
    if (plan.freeze !== undefined && (victim === 'server' || victim === 'agent') && hits % plan.freeze.every === 2) {
      const live = victim === 'server' ? random.pick(options.servers) : random.pick(options.agents)
      if (reviving.has(live) || !live.signal('SIGSTOP')) continue
      hits += 1
      landed[`froze ${victim}`] += 1
      const thawed = clock.sleep(random.between(...plan.freeze.forMs)).then(() => void live.signal('SIGCONT'))
      reviving.set(
        live,
        thawed.finally(() => reviving.delete(live)),
      )
      continue
    }
    // Targets that are down are skipped until they are up again, because a kill during a start does not count as a hit.
    if (victim === undefined || child === undefined || reviving.has(child) || options.down.has(child) || !(await child.kill()))
      continue
    landed[`killed ${victim}`] += 1
    if (victim !== 'database') hits += 1
    raise(child, random.between(...(plan.downMs ?? [0, 600])))
  }
  await Promise.all(reviving.values())
  if (failures.length > 0) throw failures[0]
}

/** Restarts processes that exit by themselves, as a supervisor would do, until the signal aborts. For the time after the kills. */
export async function superviseCalm({
  servers,
  agents,
  down,
  signal,
}: Pick<KillOptions, 'servers' | 'agents' | 'down' | 'signal'>): Promise<void> {
  while (!signal.aborted) {
    for (const child of [...servers, ...agents]) if (child.pid === undefined && !down.has(child)) await revive(child, 0)
    await clock.sleep(POLL_MS, signal).catch(() => undefined)
  }
}

/** A wait for engines ends after this time, because the last kill may be what keeps them from starting. Milliseconds. */
const LONGEST_WAIT_MS = 5_000
const POLL_MS = 50

async function untilClaimed({ recorder, signal }: KillOptions, count: number): Promise<void> {
  const until = clock.monotonic() + LONGEST_WAIT_MS
  while (recorder.claims < count && clock.monotonic() < until && !signal.aborted)
    await clock.sleep(POLL_MS, signal).catch(() => undefined)
}

/** Retries the start, as a supervisor would do: a replica whose database is also down cannot start. */
async function revive(child: Mortal, downMs: number): Promise<void> {
  await clock.sleep(downMs)
  for (let tries = 1; ; tries += 1) {
    try {
      await child.start()
      return
    } catch (error) {
      if (tries === 200) throw error
      await clock.sleep(500)
    }
  }
}

function killEngine({ cluster, recorder, random }: KillOptions): boolean {
  const running = cluster.running()
  if (running.length === 0) return false
  const ref = random.pick(running)
  recorder.expectKill(ref.buildId, ref.attempt)
  return cluster.kill(ref, { silent: random.chance(0.5) })
}
