/** A real agent whose executor keeps disks in memory and finds what a test sets. */
import { startAgent, type Agent, type Executor } from '@windlass/agent'
import { nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { createClient, type DiskFacts } from '@windlass/protocol'
import type { HttpScene } from '../../../server/test/support/http-scene.ts'

export interface DiskAgent extends AsyncDisposable {
  readonly disks: Map<string, DiskFacts>
  readonly agent: Agent
  /** Findings of the next check. */
  findings: Awaited<ReturnType<NonNullable<Executor['check']>>>
}

export function diskFacts(name: string, more: Partial<DiskFacts> = {}): DiskFacts {
  return {
    uid: `uid-of-${name}`,
    name,
    state: 'warm',
    sizeBytes: 2 ** 30,
    storageClass: 'disks',
    uses: 1,
    runtime: 'local',
    ...more,
  }
}

export async function startDiskAgent(scene: HttpScene, disks: readonly DiskFacts[]): Promise<DiskAgent> {
  const kept = new Map(disks.map((one) => [one.name, one]))
  const executor: Executor = {
    kind: 'kubernetes',
    start: async () => undefined,
    stop: async () => undefined,
    attempts: async () => [],
    close: async () => undefined,
    check: async () => started.findings,
    disks: {
      list: async () => ({ disks: [...kept.values()], failed: [] }),
      async remove({ name }) {
        if (kept.get(name)?.state === 'in-use') return { outcome: 'in-use', message: 'A build uses the disk.' }
        kept.delete(name)
        return { outcome: 'gone', message: 'The disk does not exist any more.' }
      },
    },
  }
  const client = createClient({ url: scene.server.url, token: scene.agentToken, transport: nodeTransport() })
  const agent = startAgent({ client, executor: () => executor, clock: systemClock, log: silentLog, disksMs: 100, waitMs: 2_000 })
  await agent.ready
  const started: DiskAgent = { disks: kept, agent, findings: [], [Symbol.asyncDispose]: () => agent.close(0) }
  return started
}
