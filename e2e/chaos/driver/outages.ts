/** Outages, freezes and failovers that last several times the engine timeout. They happen one after the other while the load continues. */
import { systemClock as clock } from '@windlass/kit'
import type { Postgres } from '../../support/postgres.ts'
import type { Random } from '../faults/random.ts'
import type { TcpProxy } from '../faults/tcp-proxy.ts'
import type { Harm } from '../history/history.ts'
import type { Child } from '../processes/child.ts'
import type { Mortal } from './kills.ts'

/**
 * `servers away`: all servers are killed and restarted. `network away`: the servers are unreachable. `server frozen`: one server is frozen. `database
 * frozen`: the database is frozen with all its connections. `database read-only`: it dies and returns as a standby that is not promoted yet.
 */
export type Outage = 'servers away' | 'network away' | 'server frozen' | 'database frozen' | 'database read-only'

export interface OutagePlan {
  /** The outages, each once, in a drawn order. */
  readonly kinds: readonly Outage[]
  /** Duration of an outage, and the pause before it. Milliseconds. */
  readonly forMs: readonly [number, number]
  readonly pauseMs: readonly [number, number]
  readonly database?: Postgres
}

export interface OutageOptions {
  readonly plan: OutagePlan | undefined
  readonly random: Random
  readonly servers: readonly Child[]
  readonly network: Pick<TcpProxy, 'partition' | 'heal'>
  readonly signal: AbortSignal
  /** Receives the names of targets that are down on purpose. */
  readonly down: Set<Mortal>
  /** Receives periods in which engines could not be heard although a server judged them. */
  readonly harms: Harm[]
  /** Counter that increases with every finished outage: `outage: <kind>`, and `outage seconds` in total. */
  readonly landed: Record<string, number>
  /** The engine timeout. */
  readonly deadMs: number
}

/** Stops early at the signal, after it has restored the target that is down. */
export async function runOutages(options: OutageOptions): Promise<void> {
  const { plan, random, signal, landed } = options
  if (plan === undefined) return
  for (const kind of shuffled(plan.kinds, random)) {
    await clock.sleep(random.between(...plan.pauseMs), signal).catch(() => undefined)
    if (signal.aborted) return
    const began = clock.monotonic()
    await suffer(kind, random.between(...plan.forMs), { ...options, plan })
    landed[`outage: ${kind}`] = (landed[`outage: ${kind}`] ?? 0) + 1
    landed['outage seconds'] = (landed['outage seconds'] ?? 0) + Math.round((clock.monotonic() - began) / 1_000)
  }
}

async function suffer(kind: Outage, forMs: number, options: OutageOptions & { readonly plan: OutagePlan }): Promise<void> {
  const { network, servers, random, down, harms, deadMs, plan } = options
  switch (kind) {
    case 'servers away':
      for (const server of servers) down.add(server)
      await Promise.all(servers.map((server) => server.kill()))
      await clock.sleep(forMs)
      for (const server of servers) await server.start()
      for (const server of servers) down.delete(server)
      return
    case 'network away':
      network.partition()
      await clock.sleep(forMs)
      network.heal()
      return
    case 'server frozen': {
      const from = clock.now()
      const server = random.pick(servers)
      server.signal('SIGSTOP')
      await clock.sleep(forMs)
      server.signal('SIGCONT')
      // The other servers hear no engine whose every request reaches the frozen one. A single server judges no engine for the period in which it was
      // frozen.
      if (servers.length > 1) harms.push({ what: 'one of several servers stood still', from, to: clock.now() + deadMs })
      return
    }
    case 'database frozen':
      await plan.database?.freeze()
      await clock.sleep(forMs)
      await plan.database?.thaw()
      return
    case 'database read-only':
      await plan.database?.failOver()
      await clock.sleep(forMs)
      await plan.database?.promote()
  }
}

function shuffled<T>(list: readonly T[], random: Random): T[] {
  return list
    .map((item) => ({ item, order: random.next() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item)
}
