/** Replacement of all servers by another version, one after the other, while the load continues. */
import { systemClock as clock } from '@windlass/kit'
import type { Random } from '../faults/random.ts'
import type { Mortal } from './kills.ts'
import type { ServerProcess } from './stage.ts'

export interface UpgradePlan {
  /** Program of the servers at the start. */
  readonly from: string
  /** Programs that replace it, in this order. */
  readonly to: readonly string[]
  /** Time that the servers of one version run. Milliseconds. */
  readonly pauseMs: readonly [number, number]
  /** Time between two replacements, in which servers of both versions run. Milliseconds. */
  readonly mixedMs: readonly [number, number]
}

export interface UpgradeOptions {
  readonly plan: UpgradePlan | undefined
  readonly servers: readonly ServerProcess[]
  readonly random: Random
  /** Receives the servers that are being replaced. */
  readonly down: Set<Mortal>
  /** `replaced server` increases with each replacement. */
  readonly landed: Record<string, number>
}

/** Makes all replacements, whatever becomes of the load, so that a run ends with the last version. */
export async function runUpgrades({ plan, servers, random, down, landed }: UpgradeOptions): Promise<void> {
  if (plan === undefined) return
  for (const program of plan.to) {
    await clock.sleep(random.between(...plan.pauseMs))
    for (const server of servers) {
      down.add(server.child)
      await server.child.kill()
      server.use(program)
      await server.child.start()
      down.delete(server.child)
      landed['replaced server'] = (landed['replaced server'] ?? 0) + 1
      await clock.sleep(random.between(...plan.mixedMs))
    }
  }
}
