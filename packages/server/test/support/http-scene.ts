/** A whole server on a free port, with a client for each kind of credential. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeTransport } from '@windlass/kit'
import { AgentCreated, ApiKeyCreated, Build, createClient, Runtime, type Client, type StartTask } from '@windlass/protocol'
import { startServer, type RunningServer, type ServerOptions } from '../../src/index.ts'
import { helloAgent, startEngine, type TestAgent, type TestEngine } from './fake-agent.ts'

export const HELLO = "version: '1.0'\nsteps:\n  hello:\n    image: alpine\n    commands: [echo hello]\n"

export interface HttpScene extends AsyncDisposable {
  readonly server: RunningServer
  readonly dataDir: string
  readonly nobody: Client
  readonly admin: Client
  readonly adminToken: string
  readonly agentToken: string
  readonly agent: TestAgent
  /** Submits a build and brings its engine up. */
  start(input?: object): Promise<{ build: Build; task: StartTask; engine: TestEngine }>
  submit(input?: object): Promise<Build>
}

export async function openHttpScene(options: Partial<ServerOptions> = {}): Promise<HttpScene> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'windlass-http-')))
  const server = await startServer({ minFreeShare: 0, ...options, dataDir })
  const nobody = createClient({ url: server.url, transport: nodeTransport() })
  const { token: adminToken } = await nobody.call('POST', '/v1/bootstrap', ApiKeyCreated, { body: {} })
  const admin = nobody.withToken(adminToken)
  const { token: agentToken } = await admin.call('POST', '/v1/agents', AgentCreated, { body: { name: 'agent' } })
  await admin.call('POST', '/v1/runtimes', Runtime, { body: { name: 'local', type: 'fake', agent: 'agent', isDefault: true } })
  const agent = await helloAgent(server.url, agentToken)
  const submit = (input: object = {}): Promise<Build> =>
    admin.call('POST', '/v1/builds', Build, { body: { document: HELLO, ...input } })
  return {
    server,
    dataDir,
    nobody,
    admin,
    adminToken,
    agentToken,
    agent,
    submit,
    async start(input) {
      const build = await submit(input)
      const [task] = await agent.claim()
      if (task?.kind !== 'start-attempt') throw new Error(`expected a start task, got ${JSON.stringify(task)}`)
      const engine = await startEngine(server.url, task)
      await agent.report(task, 'done')
      return { build, task, engine }
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
    },
  }
}
