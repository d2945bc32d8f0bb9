/** A real agent that runs no builds, for what belongs to no build. */
import { nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { createClient } from '@windlass/protocol'
import type { HttpScene } from '../../../server/test/support/http-scene.ts'
import { startAgent, type Agent, type AgentOptions, type Executor } from '../../src/index.ts'

export interface IdleAgent extends AsyncDisposable {
  readonly agent: Agent
}

/** Starts the agent of a scene. `parts` replaces parts of its executor, which is one outside of a cluster. */
export async function startIdleAgent(
  scene: HttpScene,
  parts: Partial<Executor> = {},
  options: Pick<AgentOptions, 'caFile'> = {},
): Promise<IdleAgent> {
  const executor: Executor = {
    kind: 'fake',
    start: async () => undefined,
    stop: async () => undefined,
    attempts: async () => [],
    close: async () => undefined,
    ...parts,
  }
  const client = createClient({ url: scene.server.url, token: scene.agentToken, transport: nodeTransport() })
  const agent = startAgent({ client, executor: () => executor, clock: systemClock, log: silentLog, waitMs: 2_000, ...options })
  await agent.ready
  return { agent, [Symbol.asyncDispose]: () => agent.close(0) }
}
