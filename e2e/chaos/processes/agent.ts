/**
 * An agent as a process that can be killed while its fake cluster, which belongs to the driver, continues: `node agent.ts '{"server": URL, "token":
 * TOKEN, "cluster": URL}'`. Prints `ready`.
 */
import { flushCompileCache } from 'node:module'
import { startAgent } from '@windlass/agent'
import { isFault, nodeTransport, openLog, systemClock } from '@windlass/kit'
import { createClient } from '@windlass/protocol'
import { z } from 'zod'
import { remoteExecutor } from '../driver/remote-cluster.ts'
import { REPLACED } from './child.ts'

const { server, token, cluster } = z
  .object({ server: z.string(), token: z.string(), cluster: z.string() })
  .parse(JSON.parse(process.argv[2] ?? '{}'))
const agent = startAgent({
  client: createClient({ url: server, token, transport: nodeTransport() }),
  executor: remoteExecutor(cluster),
  clock: systemClock,
  log: openLog({ level: 'info', name: 'agent' }),
  waitMs: 5_000,
  sweepMs: 2_000,
})
console.log('ready')
// As in `server.ts`.
flushCompileCache()
// A call of a killed process may reach the server after those of the next one, which then ends.
await agent.ended.catch((error: unknown) => process.exit(isFault(error, 'agent-fenced') ? REPLACED : 1))
