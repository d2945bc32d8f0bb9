/** A server as its own process with default periods, and in this process an agent with fake engines that end immediately. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAgent } from '@windlass/agent'
import { openFakeCluster } from '../../e2e/support/fake-engines/index.ts'
import { nodeTransport, silentLog, systemClock as clock } from '@windlass/kit'
import { openClient, type ApiClient } from '@windlass/client'
import type { Build, StartTask } from '@windlass/protocol'
import { describeChild, type Child } from '../../e2e/chaos/processes/child.ts'
import { firstAdmin } from '../../e2e/support/first-admin.ts'
import { programFile } from '../../e2e/support/programs.ts'

export interface FakeStack extends AsyncDisposable {
  readonly client: ApiClient
  readonly dataDir: string
  readonly server: Child
  /** Called when the agent has received a start task. */
  onStart: (task: StartTask) => void
  /** Starts a build of one empty step. */
  submit(): Promise<Build>
  /** Stops the server, so that its database can be read. */
  stopServer(): Promise<void>
}

const DOCUMENT = 'version: "1.0"\nsteps:\n  hello:\n    image: windlass.local/shell:1\n    commands:\n      - echo hello\n'

/** Starts the stack in a temporary folder. */
export async function openFakeStack(): Promise<FakeStack> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-bench-'))
  const dataDir = join(folder, 'server')
  const settings = JSON.stringify({ dataDir, minFreeShare: 0 })
  const server = describeChild({
    name: 'server',
    command: process.execPath,
    args: [programFile('chaos-server'), settings],
    logFile: join(folder, 'server.log'),
  })
  await server.start()
  const bare = openClient({ url: server.ready[0] ?? '', transport: nodeTransport({ maxSockets: 256 }) })
  const { token } = await bare.server.bootstrap(await firstAdmin(dataDir))
  const client = bare.withToken(token)
  const agentToken = (await client.agents.create({ name: 'bench', runtimes: ['fake'] })).token
  await client.runtimes.create({ name: 'fake', type: 'fake', agent: 'bench', isDefault: true })
  await client.pipelines.create({ name: 'bench/one', document: DOCUMENT })
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
    submit: () => client.builds.create({ pipeline: 'bench/one' }, { idempotencyKey: false }),
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
