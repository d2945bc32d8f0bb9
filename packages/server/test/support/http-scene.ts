/** A complete server on a free port, with a client for each kind of credential. */
import { rm } from 'node:fs/promises'
import { openClient, type ApiClient } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import type { Build, StartTask } from '@windlass/protocol'
import { firstAdmin } from '../../../../e2e/support/first-admin.ts'
import { startServer, type RunningServer, type ServerOptions } from '../../src/index.ts'
import { DOCUMENT_PROGRAM } from './document-program.ts'
import { putEmptyDatabase } from './empty-database.ts'
import { claimStart, helloAgent, startEngine, type TestAgent, type TestEngine } from './fakes/fake-agent.ts'
import { memoryFolder } from '../../../../e2e/support/memory-folder.ts'

export const HELLO = "version: '1.0'\nsteps:\n  hello:\n    image: alpine\n    commands: [echo hello]\n"

export interface HttpScene extends AsyncDisposable {
  readonly server: RunningServer
  readonly dataDir: string
  readonly nobody: ApiClient
  readonly admin: ApiClient
  readonly adminToken: string
  readonly agentToken: string
  readonly agent: TestAgent
  /** Submits a build and starts its engine. */
  start(input?: object): Promise<{ build: Build; task: StartTask; engine: TestEngine }>
  submit(input?: object): Promise<Build>
}

export async function openHttpScene(options: Partial<ServerOptions> = {}): Promise<HttpScene> {
  const dataDir = options.dataDir ?? (await memoryFolder('windlass-http-'))
  if (options.dataDir === undefined && options.databaseUrl === undefined) await putEmptyDatabase(dataDir)
  const server = await startServer({ minFreeShare: 0, documentProgram: DOCUMENT_PROGRAM, ...options, dataDir })
  const nobody = openClient({ url: server.url, transport: nodeTransport() })
  const code = options.bootstrapCode === undefined ? await firstAdmin(dataDir) : { code: options.bootstrapCode }
  const { token: adminToken } = await nobody.server.bootstrap(code)
  const admin = nobody.withToken(adminToken)
  const { token: agentToken } = await admin.agents.create({ name: 'agent' })
  await admin.runtimes.create({ name: 'local', type: 'fake', agent: 'agent', isDefault: true })
  const agent = await helloAgent(server.url, agentToken)
  const submit = (input: object = {}): Promise<Build> =>
    admin.builds.create({ document: HELLO, ...input }, { idempotencyKey: false })
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
      const task = await claimStart(agent)
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
