/** The server address that engines use: that of their agent, whatever the server advertises. */
import { openSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, Runtime, ServerStatus, type ProtocolV1Task } from '@windlass/protocol'
import { nodeTransport, openLog } from '@windlass/kit'
import { z } from 'zod'
import { expect, test } from 'vitest'
import { helloAgent } from '../../support/fakes/fake-agent.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const ADVERTISED = 'https://ci.example.com'
const Env = z.array(z.looseObject({ name: z.string(), value: z.string().optional() }))
const Pod = z.looseObject({ spec: z.looseObject({ containers: z.array(z.looseObject({ env: Env })) }) })

/** Returns the server URL in the environment of the engine container among the objects of an agent. */
function urlIn(objects: readonly unknown[]): string | undefined {
  const all = objects.flatMap((object) => Pod.safeParse(object).data?.spec.containers ?? []).flatMap(({ env }) => env)
  return all.find(({ name }) => name === 'WINDLASS_ENGINE_SERVER_URL')?.value
}

/** Registers the agent of a Kubernetes runtime, with or without an address. Returns the server URL that its engine gets. */
async function urlOfBuild(
  scene: HttpScene,
  hello: { serverUrl?: string },
  runtimeScheduler: object = {},
): Promise<string | undefined> {
  const body = { name: 'local', type: 'kubernetes', agent: 'agent', isDefault: true, spec: { runtimeScheduler } }
  await scene.admin.call('PUT', '/v1/runtimes/local', Runtime, { body })
  const agent = await helloAgent(scene.server.url, scene.agentToken, undefined, { executor: 'kubernetes', ...hello })
  await scene.submit()
  const [task] = await agent.claim()
  if (task?.kind !== 'start-attempt') throw new Error(`no start task but ${JSON.stringify(task)}`)
  expect(urlIn(task.objects)).toBe(task.engine.serverUrl)
  return task.engine.serverUrl
}

test('engines get the address that their agent uses, and links keep the advertised URL', async () => {
  await using scene = await openHttpScene({ advertisedUrl: `${ADVERTISED}/` })
  expect(await urlOfBuild(scene, { serverUrl: 'http://windlass.internal:8080/' })).toBe('http://windlass.internal:8080')
  expect(await scene.admin.call('GET', '/v1/agents/agent', Agent)).toMatchObject({ serverUrl: 'http://windlass.internal:8080' })
  expect(await scene.nobody.call('GET', '/v1/status', ServerStatus)).toMatchObject({ advertisedUrl: ADVERTISED })
})

test('a runtime environment can set another address for its engines', async () => {
  await using scene = await openHttpScene()
  const mine = { serverUrl: 'https://edge.example.com' }
  expect(await urlOfBuild(scene, { serverUrl: 'http://windlass.internal:8080' }, mine)).toBe('https://edge.example.com')
})

test.each([
  ['reports none', {}],
  ['runs outside the cluster and uses the loopback address', { serverUrl: 'http://127.0.0.1:7400' }],
])('engines get the address of the server if their agent %s', async (_, hello) => {
  await using scene = await openHttpScene({ advertisedUrl: ADVERTISED })
  expect(await urlOfBuild(scene, hello)).toBe(ADVERTISED)
})

/** Invalid base URLs. A name and password would be visible to viewers and steps. */
const INVALID_URLS = ['windlass.example.com', 'https://name:secret@windlass.example.com', 'https://windlass.example.com/?key=1']

test.each(INVALID_URLS)('accepts an agent that reports %s, and its engines get the address of the server', async (serverUrl) => {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-log-'))
  const file = join(folder, 'log')
  await using scene = await openHttpScene({
    advertisedUrl: ADVERTISED,
    log: openLog({ level: 'warn', name: 'server', fd: openSync(file, 'w') }),
  })
  expect(await urlOfBuild(scene, { serverUrl })).toBe(ADVERTISED)
  expect(await scene.admin.call('GET', '/v1/agents/agent', Agent)).toMatchObject({ serverUrl: ADVERTISED })
  await expect
    .poll(() => readFile(file, 'utf8'))
    .toContain('ignored the serverUrl of the agent: it is not the base URL of a server')
  expect(await readFile(file, 'utf8')).not.toContain('secret')
  await rm(folder, { recursive: true })
})

test('normalizes addresses', async () => {
  await using scene = await openHttpScene()
  const spelled = 'HTTPS://Edge.Example.com:443/windlass//'
  expect(await urlOfBuild(scene, { serverUrl: spelled })).toBe('https://edge.example.com/windlass')
  await using other = await openHttpScene()
  expect(await urlOfBuild(other, {}, { serverUrl: spelled })).toBe('https://edge.example.com/windlass')
})

test.each(INVALID_URLS)('rejects %s in a runtime', async (serverUrl) => {
  await using scene = await openHttpScene()
  const spec = { runtimeScheduler: { serverUrl } }
  await expect(
    scene.admin.call('PUT', '/v1/runtimes/local', Runtime, { body: { name: 'local', type: 'kubernetes', spec } }),
  ).rejects.toMatchObject({ code: 'request-invalid', message: expect.stringContaining('serverUrl') })
})

/** Returns the server URL that a public agent gets for its engine if it calls with this host. */
async function urlForPublicAgent(scene: HttpScene, host: string): Promise<string | undefined> {
  await scene.admin.call('PUT', '/v1/runtimes/local', Runtime, {
    body: { name: 'local', type: 'kubernetes', agent: 'agent', isDefault: true },
  })
  const poll = async (): Promise<ProtocolV1Task[]> => {
    const url = `${scene.server.url}/api/agent/agent/tasks`
    const headers = { authorization: scene.agentToken, host, 'user-agent': 'cf-classic-runner/2.0.10' }
    return JSON.parse(await (await nodeTransport()({ method: 'GET', url, headers })).text())
  }
  await poll()
  await scene.submit()
  for (;;) {
    const url = urlIn((await poll()).map(({ spec }) => spec))
    if (url !== undefined) return url
  }
}

test('with protocol v1 engines get the host that their agent calls, unless the server has a configured URL (A02)', async () => {
  await using plain = await openHttpScene()
  expect(await urlForPublicAgent(plain, '10.244.0.1:7400')).toBe('http://10.244.0.1:7400')
  await using named = await openHttpScene({ advertisedUrl: ADVERTISED })
  expect(await urlForPublicAgent(named, '10.244.0.1:7400')).toBe(ADVERTISED)
  await using strange = await openHttpScene()
  expect(await urlForPublicAgent(strange, 'a/b?c@d')).toBe(strange.server.url)
  await using user = await openHttpScene()
  expect(await urlForPublicAgent(user, 'name:secret@10.244.0.1')).toBe(user.server.url)
})
