/** The process of an agent and a server that has spoken protocol v2 and later claims to support only v1. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAgentProcess } from './support/agent-process.ts'
import { openFakeKube, type FakeKube } from './support/fake-kube.ts'
import { TOKEN, until } from './support/v1-scene.ts'

const ID = '65a1b2c3d4e5f60718293a4b'
const WELCOME = {
  agentId: ID,
  name: 'one',
  epoch: 1,
  leaseMs: 30_000,
  runtimes: [],
  server: { protocol: 2, version: '1.0.0', features: [] },
}

interface TwoFacedServer extends AsyncDisposable {
  readonly port: number
  /** Number of calls by protocol. */
  readonly heard: { v1: number; v2: number }
  speaks: 'v1' | 'v2'
}

async function openTwoFacedServer(): Promise<TwoFacedServer> {
  const listener = http.createServer((request, response) => {
    const path = request.url ?? ''
    const protocol = path.startsWith('/api/agent/') ? 'v1' : 'v2'
    server.heard[protocol] += 1
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString('utf8')))
    request.on('end', () => {
      const answer = (status: number, value: unknown): void =>
        void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
      if (server.speaks !== protocol) return answer(404, { code: 'not-found', message: 'There is no such page.' })
      if (protocol === 'v1') return answer(200, path.includes('/tasks') ? [] : {})
      // Claims are held.
      if (path.endsWith('/hello')) return body === '{}' ? answer(400, { code: 'request-invalid' }) : answer(200, WELCOME)
    })
  })
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  const address = listener.address()
  const server: TwoFacedServer = {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    heard: { v1: 0, v2: 0 },
    speaks: 'v2',
    async [Symbol.asyncDispose]() {
      listener.closeAllConnections()
      listener.close()
      await once(listener, 'close')
    },
  }
  return server
}

let folder: string
let kube: FakeKube
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'protocol-memory-'))
  kube = await openFakeKube()
})
afterAll(async () => {
  await kube[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

/** Settings of an agent in the cluster, with a state folder of this name. */
function settings(server: TwoFacedServer, state: string, host = '127.0.0.1'): Record<string, string> {
  const kubeconfig = join(folder, 'kubeconfig')
  const config = {
    'current-context': 'own',
    contexts: [{ name: 'own', context: { cluster: 'own', user: 'own', namespace: 'builds' } }],
    clusters: [{ name: 'own', cluster: { server: kube.url } }],
    users: [{ name: 'own', user: { token: 'account-of-the-pod' } }],
  }
  writeFileSync(kubeconfig, JSON.stringify(config))
  return {
    CODEFRESH_TOKEN: TOKEN,
    CODEFRESH_HOST: `http://${host}:${server.port}`,
    AGENT_ID: 'one',
    CODEFRESH_IN_CLUSTER_RUNTIME: 'mine',
    WINDLASS_AGENT_KUBECONFIG: kubeconfig,
    WINDLASS_AGENT_STATE_DIR: join(folder, state),
  }
}

const REFUSAL = 'so protocol v1 is not used; set WINDLASS_AGENT_PROTOCOL=v1 to allow it'

test('does not go back to v1 after v2, with only its folder or only its Lease', async () => {
  await using server = await openTwoFacedServer()
  {
    // In a pod the Lease is written without this setting.
    await using agent = await startAgentProcess({ ...settings(server, 'first'), WINDLASS_AGENT_LEASE: 'on' })
    await until(`a Lease, but it says ${agent.log()}`, () => [...kube.objects.keys()].some((key) => key.includes('protocol-v2')))
  }
  server.speaks = 'v1'
  const places = [settings(server, 'first'), { ...settings(server, 'empty'), WINDLASS_AGENT_LEASE: 'on' }]
  for (const place of places) {
    server.heard.v2 = 0
    await using agent = await startAgentProcess(place)
    // Two: it continues with v2 after the first refusal.
    await until(`a second hello, but it says ${agent.log()}`, () => server.heard.v2 >= 2)
    // The log is written in the background.
    await until(`the refusal, but it says ${agent.log()}`, () => agent.log().includes(REFUSAL))
    expect(server.heard.v1).toBe(0)
  }
})

test('asks a server with another address again, and uses v1 if the owner sets it', async () => {
  await using server = await openTwoFacedServer()
  {
    await using agent = await startAgentProcess(settings(server, 'moved'))
    await until(`a welcome, but it says ${agent.log()}`, () => server.heard.v2 >= 3)
  }
  server.speaks = 'v1'
  {
    await using agent = await startAgentProcess(settings(server, 'moved', 'localhost'))
    await until(`v1, but it says ${agent.log()}`, () => server.heard.v1 > 1)
  }
  server.heard.v1 = 0
  await using agent = await startAgentProcess({ ...settings(server, 'moved'), WINDLASS_AGENT_PROTOCOL: 'v1' })
  await until(`v1, but it says ${agent.log()}`, () => server.heard.v1 > 1)
})
