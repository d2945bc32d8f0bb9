/** What must be there before the first build: an admin, an agent, a runtime of fake engines, pipelines with and without limits. */
import { AgentCreated, ApiKeyCreated, Pipeline, Runtime, type Client } from '@windlass/protocol'
import type { Limits } from '../history/history.ts'
import { toDocument } from './requests.ts'

export const RUNTIME = 'fake'
const CAPACITY = 24
/** An engine that dies before its claim, unseen, is noticed by nothing else. */
const ELECTED_MS = 8_000
const PIPELINES = [{ name: 'chaos/free' }, { name: 'chaos/three', concurrency: 3 }, { name: 'chaos/one', concurrency: 1 }]

export interface Prepared {
  readonly adminToken: string
  readonly agentToken: string
  readonly pipelines: readonly string[]
  readonly limits: Limits
}

/** Makes the first admin of a new server, and all that builds need. */
export async function prepare(client: Client): Promise<Prepared> {
  const { token: adminToken } = await client.call('POST', '/v1/bootstrap', ApiKeyCreated, { body: {} })
  const admin = client.withToken(adminToken)
  const agent = await admin.call('POST', '/v1/agents', AgentCreated, { body: { name: 'chaos', runtimes: [RUNTIME] } })
  await admin.call('POST', '/v1/runtimes', Runtime, {
    body: {
      name: RUNTIME,
      type: 'fake',
      agent: 'chaos',
      isDefault: true,
      spec: { capacity: CAPACITY, limits: { retries: 2, electedMs: ELECTED_MS } },
    },
  })
  const document = toDocument([{ name: 'hello', after: [], failFast: true }])
  for (const pipeline of PIPELINES) await admin.call('POST', '/v1/pipelines', Pipeline, { body: { ...pipeline, document } })
  const limited = PIPELINES.flatMap(({ name, concurrency }) => (concurrency === undefined ? [] : [[name, concurrency] as const]))
  return {
    adminToken,
    agentToken: agent.token,
    // The unlimited one three times as often as the one that runs a single build at a time.
    pipelines: PIPELINES.flatMap(({ name, concurrency = 5 }) => Array.from({ length: Math.ceil(concurrency / 2) }, () => name)),
    limits: { pipelines: Object.fromEntries(limited), runtimes: { [RUNTIME]: CAPACITY } },
  }
}
