/** Faults at random times, in three lanes that run at the same time: managers that die, a GitLab that fails, an API server that is frozen. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Random } from '../../chaos/faults/random.ts'
import { runProgram } from '../../support/process.ts'
import { systemIdOf, type Manager, type ManagerSettings, type RunnerScene } from '../support/runner-scene.ts'

const CLUSTER = fileURLToPath(new URL('../../../scripts/cluster', import.meta.url))

export interface FaultsOptions {
  readonly scene: RunnerScene
  readonly random: Random
  /** Settings of the managers. */
  readonly settings: readonly ManagerSettings[]
  /** Faults of each lane: of managers, of GitLab, of the API server. */
  readonly counts: readonly [managers: number, gitlab: number, cluster: number]
}

export interface Faults {
  /** Managers that were killed. */
  readonly kills: readonly { readonly systemId: string; readonly at: number }[]
  /** Number of faults that took effect, by their names. */
  readonly landed: Readonly<Record<string, number>>
  /** Resolves when all faults have ended, and all managers run. */
  run(): Promise<void>
  /** Names of the managers that run. */
  living(): string[]
}

/** Starts the managers and returns their faults. */
export async function openFaults({ scene, random, settings, counts }: FaultsOptions): Promise<Faults> {
  const kills: { systemId: string; at: number }[] = []
  const landed: Record<string, number> = {}
  /** By their first name. */
  const managers = new Map<string, { readonly name: string; readonly manager: Manager }>()
  const land = (what: string): void => void (landed[what] = (landed[what] ?? 0) + 1)
  const start = async (slot: string, one: ManagerSettings): Promise<void> => {
    const manager = await scene.startManager(one)
    managers.set(slot, { name: one.name ?? slot, manager })
  }
  await Promise.all(settings.map((one) => start(one.name ?? '', one)))

  async function killManager(lane: Random): Promise<void> {
    const one = lane.pick(settings)
    const slot = one.name ?? ''
    const { name = slot, manager } = managers.get(slot) ?? {}
    const busy = busyOf(name)
    await manager?.service.stop('SIGKILL')
    managers.delete(slot)
    kills.push({ systemId: systemIdOf(name), at: Date.now() })
    land(busy === 0 ? 'idle manager killed' : 'manager with jobs killed')
    // Often longer than a Lease, so that another manager continues the jobs.
    await sleep(lane.chance(0.4) ? lane.between(0, 4_000) : lane.between(16_000, 22_000))
    // Another system ID is that of a new pod of the manager. Nobody renews the Lease of the old one.
    await start(slot, lane.chance(0.5) ? one : { ...one, name: `${slot}-${kills.length}` })
  }

  /** Number of jobs that a manager received and GitLab does not know to be ended. */
  function busyOf(name: string): number {
    const id = systemIdOf(name)
    return [...scene.coordinator.jobs.values()].filter(({ given, final }) => final === undefined && given.at(-1)?.systemId === id)
      .length
  }

  async function failGitlab(lane: Random): Promise<void> {
    const { coordinator } = scene
    if (lane.chance(0.5)) {
      await coordinator.down()
      await sleep(lane.between(2_000, 9_000))
      await coordinator.up()
      land('GitLab down')
      return
    }
    const status = lane.pick([429, 500, 502, 503])
    coordinator.failNext(lane.between(3, 20), status)
    land(`GitLab answers ${status}`)
  }

  async function freezeCluster(lane: Random): Promise<void> {
    await runProgram(CLUSTER, ['pause', 'apiserver', String(lane.between(4, 12))])
    land('API server frozen')
  }

  async function repeat(name: string, count: number, fault: (lane: Random) => Promise<void>): Promise<void> {
    const lane = random.fork(name)
    for (let n = 0; n < count; n += 1) {
      await sleep(lane.between(2_000, 9_000))
      await fault(lane)
    }
  }

  return {
    kills,
    landed,
    async run() {
      await Promise.all([
        repeat('managers', counts[0], killManager),
        repeat('gitlab', counts[1], failGitlab),
        repeat('cluster', counts[2], freezeCluster),
      ])
      scene.coordinator.failNext(0)
    },
    living: () => [...managers.values()].map(({ name }) => name),
  }
}
