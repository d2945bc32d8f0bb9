/** Kills at seeded moments: servers and agents as processes by SIGKILL (started again at once), engines inside the fake cluster. */
import type { FakeCluster } from '@windlass/agent/fake'
import { systemClock as clock } from '@windlass/kit'
import type { Random } from '../faults/random.ts'
import type { Child } from '../processes/child.ts'
import type { Recorder } from './recorder.ts'

export type Victim = 'server' | 'agent' | 'engine' | 'database'

/** What can be killed and started again. */
export type Mortal = Pick<Child, 'start' | 'kill'>

export interface KillPlan {
  /** Between two kills, milliseconds. */
  readonly everyMs: readonly [number, number]
  /** One after the other in an order that is drawn anew each time; name one twice to hit it more. */
  readonly victims: readonly Victim[]
  /** How long the dead stay dead, milliseconds. */
  readonly downMs?: readonly [number, number]
  readonly database?: Mortal
  /** Servers and agents stand still in place of dying in this share of cases, for so long (milliseconds): longer than a lease. */
  readonly freeze?: { readonly share: number; readonly forMs: readonly [number, number] }
}

type Landed = Record<`killed ${Victim}` | 'froze server' | 'froze agent', number>

export interface KillOptions {
  readonly plan: KillPlan | undefined
  readonly random: Random
  readonly servers: readonly Child[]
  readonly agent: Child
  readonly cluster: FakeCluster
  readonly recorder: Recorder
  readonly signal: AbortSignal
}

/** Kills until the signal, then sees to it that everything is up again. Answers how many kills hit something alive. */
export async function runKills(options: KillOptions): Promise<Landed> {
  const landed: Landed = {
    'killed server': 0,
    'killed agent': 0,
    'killed engine': 0,
    'killed database': 0,
    'froze server': 0,
    'froze agent': 0,
  }
  const { plan, random, signal } = options
  const reviving = new Map<Mortal, Promise<void>>()
  const failures: unknown[] = []
  const deck: Victim[] = []
  const raise = (child: Mortal, downMs: number): void => {
    const revived = revive(child, downMs)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => reviving.delete(child))
    reviving.set(child, revived)
  }
  while (plan !== undefined && !signal.aborted) {
    // What ended by itself is started again, as a supervisor would; the run tells of it.
    for (const child of [...options.servers, options.agent]) if (child.pid === undefined && !reviving.has(child)) raise(child, 0)
    await clock.sleep(random.between(...plan.everyMs), signal).catch(() => undefined)
    if (signal.aborted) break
    if (deck.length === 0) deck.push(...plan.victims)
    const [victim] = deck.splice(random.between(0, deck.length - 1), 1)
    if (victim === 'engine') {
      if (killEngine(options)) landed['killed engine'] += 1
      continue
    }
    const child = victim === 'server' ? random.pick(options.servers) : victim === 'agent' ? options.agent : plan.database
    if (plan.freeze !== undefined && (victim === 'server' || victim === 'agent') && random.chance(plan.freeze.share)) {
      const live = victim === 'server' ? random.pick(options.servers) : options.agent
      if (reviving.has(live) || !live.signal('SIGSTOP')) continue
      landed[`froze ${victim}`] += 1
      const thawed = clock.sleep(random.between(...plan.freeze.forMs)).then(() => void live.signal('SIGCONT'))
      reviving.set(
        live,
        thawed.finally(() => reviving.delete(live)),
      )
      continue
    }
    // The dead are left alone until they are up again: a start that is cut short hits nothing.
    if (victim === undefined || child === undefined || reviving.has(child) || !(await child.kill())) continue
    landed[`killed ${victim}`] += 1
    raise(child, random.between(...(plan.downMs ?? [0, 600])))
  }
  await Promise.all(reviving.values())
  if (failures.length > 0) throw failures[0]
  return landed
}

/** A replica whose database is away, too, cannot start: it is tried again, as a supervisor would. */
async function revive(child: Mortal, downMs: number): Promise<void> {
  await clock.sleep(downMs)
  for (let tries = 1; ; tries += 1) {
    try {
      await child.start()
      return
    } catch (error) {
      if (tries === 20) throw error
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
