/** Creates what builds need: an admin, agents, runtimes of fake engines, pipelines with and without limits. */
import { defined } from '@windlass/kit/defined'
import type { ApiClient } from '@windlass/client'
import type { Limits, StepShape } from '../history/history.ts'
import { toDocument } from './requests.ts'

export const RUNTIME = 'fake'
/** Steps of the stored document of each pipeline. */
export const STORED_STEPS: readonly StepShape[] = [{ name: 'hello', after: [], failFast: true }]
const CAPACITY = 24
/** Only this timeout detects an engine that crashes unnoticed before its claim. */
const ELECTED_MS = 15_000
const PIPELINES = [
  { name: 'chaos/free' },
  { name: 'chaos/three', concurrency: 3 },
  { name: 'chaos/one', concurrency: 1 },
  { name: 'chaos/branches', branchConcurrency: 1 },
  { name: 'chaos/triggers', triggerConcurrency: 2 },
] as const
/** Number of builds per pipeline. */
const SHARES: Readonly<Record<string, number>> = { 'chaos/free': 3, 'chaos/three': 2 }

export interface Prepared {
  readonly adminToken: string
  /** One token per agent; agent n serves runtime n. */
  readonly agentTokens: readonly string[]
  readonly runtimes: readonly string[]
  readonly pipelines: readonly string[]
  readonly limits: Limits
}

/**
 * Creates the first admin of a new server with this code, and all that builds need. With several agents the account has a limit
 * below the total capacity of their runtimes.
 */
export async function prepare(
  client: ApiClient,
  code: string,
  { agents = 1, electedMs = ELECTED_MS }: { agents?: number; electedMs?: number } = {},
): Promise<Prepared> {
  const { token: adminToken } = await client.server.bootstrap({ code })
  const admin = client.withToken(adminToken)
  const runtimes = Array.from({ length: agents }, (_, n) => (n === 0 ? RUNTIME : `${RUNTIME}-${n}`))
  const capacity = Math.ceil(CAPACITY / agents)
  const agentTokens: string[] = []
  for (const [n, name] of runtimes.entries()) {
    const agent = `chaos-${n}`
    agentTokens.push((await admin.agents.create({ name: agent, runtimes: [name] })).token)
    const spec = { capacity, limits: { retries: 2, electedMs } }
    await admin.runtimes.create({ name, type: 'fake', agent, isDefault: n === 0, spec })
  }
  const account = agents === 1 ? undefined : CAPACITY - 4
  if (account !== undefined) await admin.settings.put({ concurrency: account })
  const document = toDocument(STORED_STEPS)
  for (const pipeline of PIPELINES) await admin.pipelines.create({ ...pipeline, document })
  return {
    adminToken,
    agentTokens,
    runtimes,
    pipelines: PIPELINES.flatMap(({ name }) => Array.from({ length: SHARES[name] ?? 1 }, () => name)),
    limits: {
      pipelines: { 'chaos/three': 3, 'chaos/one': 1 },
      branches: { 'chaos/branches': 1 },
      triggers: { 'chaos/triggers': 2 },
      runtimes: Object.fromEntries(runtimes.map((name) => [name, capacity])),
      ...defined({ account }),
    },
  }
}
