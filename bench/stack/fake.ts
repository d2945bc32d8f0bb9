/** A server as a process of its own with default periods, and in this process an agent with fake engines that end at once. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAgent } from '@windlass/agent'
import { openFakeCluster } from '@windlass/agent/fake'
import { nodeTransport, silentLog, systemClock as clock } from '@windlass/kit'
import {
  AgentCreated,
  ApiKeyCreated,
  Build,
  createClient,
  Pipeline,
  Runtime,
  type Client,
  type StartTask,
} from '@windlass/protocol'
import { describeChild, type Child } from '../../e2e/chaos/processes/child.ts'

export interface FakeStack extends AsyncDisposable {
  readonly client: Client
  readonly dataDir: string
  readonly server: Child
  /** Called when the agent has a start task in its hands. */
  onStart: (task: StartTask) => void
  /** Starts a build of one empty step. */
  submit(): Promise<Build>
  /** Ends the server, so that its database can be read. */
  stopServer(): Promise<void>
}

const DOCUMENT = 'version: "1.0"\nsteps:\n  hello:\n    image: windlass.local/shell:1\n    commands:\n      - echo hello\n'

/** Starts the stack in a temporary folder. */
export async function openFakeStack(): Promise<FakeStack> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-bench-'))
  const dataDir = join(folder, 'server')
  const entry = join(import.meta.dirname, '../../e2e/chaos/processes/server.ts')
  const settings = JSON.stringify({ dataDir, minFreeShare: 0 })
  const server = describeChild({
    name: 'server',
    command: process.execPath,
    args: [entry, settings],
    logFile: join(folder, 'server.log'),
  })
  await server.start()
  const bare = createClient({ url: server.ready[0] ?? '', transport: nodeTransport({ maxSockets: 256 }) })
  const client = bare.withToken((await bare.call('POST', '/v1/bootstrap', ApiKeyCreated, { body: {} })).token)
  const agentToken = (await client.call('POST', '/v1/agents', AgentCreated, { body: { name: 'bench', runtimes: ['fake'] } }))
    .token
  await client.call('POST', '/v1/runtimes', Runtime, { body: { name: 'fake', type: 'fake', agent: 'bench', isDefault: true } })
  await client.call('POST', '/v1/pipelines', Pipeline, { body: { name: 'bench/one', document: DOCUMENT } })
  const cluster = openFakeCluster({ transport: nodeTransport({ maxSockets: 4096 }), clock, log: silentLog })
  const agent = startAgent({
    client: bare.withToken(agentToken),
    executor: (context) => {
      const inner = cluster.executor(context)
      return {
        ...inner,
        start(task, signal) {
          stack.onStart(task)
          return inner.start(task, signal)
        },
      }
    },
    clock,
    log: silentLog,
  })
  await agent.ready
  const stack: FakeStack = {
    client,
    dataDir,
    server,
    onStart: () => undefined,
    submit: () => client.call('POST', '/v1/builds', Build, { body: { pipeline: 'bench/one' } }),
    async stopServer() {
      await agent.close(2_000)
      await cluster.close()
      await server.kill()
    },
    async [Symbol.asyncDispose]() {
      await stack.stopServer()
      await rm(folder, { recursive: true })
    },
  }
  return stack
}
