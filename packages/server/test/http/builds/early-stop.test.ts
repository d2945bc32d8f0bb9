/** A build that is terminated before its first step: every wait of its engine ends at once. With a real server, engine and Docker. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog, systemClock } from '@windlass/kit'
import { Build, DebugState, Pipeline } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { openHttpProxy, type Call, type Verdict } from '../../../../../e2e/chaos/faults/http-proxy.ts'
import { containerHost } from '../../../../../e2e/support/docker.ts'
import { ensureImages } from '../../../../../e2e/support/images.ts'
import { removeBuilds, removeVolumes } from '../../../../../e2e/support/leftovers.ts'
import { freePort } from '../../../../../e2e/support/process.ts'
import { startEngine, type EngineOptions } from '../../../../engine/src/index.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

/** Every wait below lasts longer than this if it is not cut. Milliseconds. */
const CUT_MS = 20_000
const WAIT_MS = 600_000
const DOCKER = { socketPath: '/var/run/docker.sock' }

interface Wait {
  readonly engine?: Partial<EngineOptions>
  /** Fields of the build. */
  readonly build?: object
  /** Prepares the server, before the build is submitted. */
  readonly prepare?: (scene: HttpScene) => Promise<unknown>
  /** Resolves when the engine waits. */
  readonly untilReached: (scene: HttpScene, build: string) => Promise<unknown>
}

/** A peer that accepts connections and never answers. */
async function openHole(stack: AsyncDisposableStack, host: string): Promise<{ url: string; used: Promise<void> }> {
  const { promise: used, resolve } = Promise.withResolvers<void>()
  const sockets = new Set<{ destroy(): void }>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('data', () => resolve())
  })
  await new Promise<void>((done) => server.listen(0, '0.0.0.0', done))
  stack.defer(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server has such an address
  return { url: `http://${host}:${(server.address() as AddressInfo).port}`, used }
}

/** Docker behind a proxy that applies `verdict` to the calls that match. */
async function spoil(stack: AsyncDisposableStack, matches: (call: Call) => boolean, verdict: Verdict): Promise<Wait> {
  const { promise: reached, resolve } = Promise.withResolvers<void>()
  const decide = (call: Call): Verdict => {
    if (!matches(call)) return { kind: 'pass' }
    resolve()
    return verdict
  }
  const { port } = stack.use(await openHttpProxy({ target: () => DOCKER, decide }))
  const { TOOLS_IMAGE: toolsImage } = await ensureImages('shell', 'tools')
  return { engine: { dockerEnv: { DOCKER_HOST: `tcp://127.0.0.1:${port}` }, toolsImage }, untilReached: () => reached }
}

/** Docker as it is. */
async function plain(): Promise<Partial<EngineOptions>> {
  const { TOOLS_IMAGE: toolsImage } = await ensureImages('shell', 'tools')
  return { dockerEnv: process.env, toolsImage }
}

const isCreate = ({ path }: Call): boolean => /\/containers\/create|\/volumes\/create/.test(path)
const isImage = ({ path }: Call): boolean => /\/images\/.*absent/.test(path)

const WAITS: Readonly<Record<string, (stack: AsyncDisposableStack) => Promise<Wait>>> = {
  'the daemon to start': async () => ({
    engine: { dockerEnv: { DOCKER_HOST: `tcp://127.0.0.1:${await freePort()}` } },
    untilReached: () => systemClock.sleep(500),
  }),
  'the address of the daemon': async () => ({
    engine: { dockerEnv: {}, askDockerHost: true },
    untilReached: () => systemClock.sleep(500),
  }),
  'the answer of a daemon that hangs at its start': async (stack) => {
    const hole = await openHole(stack, '127.0.0.1')
    return { engine: { dockerEnv: { DOCKER_HOST: hole.url.replace('http', 'tcp') } }, untilReached: () => hole.used }
  },
  'space on a full disk': (stack) =>
    spoil(stack, isCreate, { kind: 'answer', status: 500, message: 'write /var/lib/docker: no space left on device' }),
  'the tools image to be loaded': async (stack) => {
    const { engine, ...wait } = await spoil(stack, isImage, { kind: 'answer', status: 404 })
    return { ...wait, engine: { ...engine, toolsImage: 'windlass/absent:1' } }
  },
  'a registry with the tools image': async (stack) => {
    const { engine, ...wait } = await spoil(stack, ({ path }) => path.includes('/images/create'), { kind: 'hang' })
    return { ...wait, engine: { ...engine, toolsImage: 'windlass/absent:1', toolsWaitMs: 0 } }
  },
  'a call to the daemon that hangs': (stack) => spoil(stack, isCreate, { kind: 'hang' }),
  'a secret store': async (stack) => {
    const hole = await openHole(stack, '127.0.0.1')
    const data = { url: hole.url, token: 'token', mount: 'secret', path: 'app' }
    return {
      engine: await plain(),
      build: { contexts: ['safe'], document: STEPS.replace('echo hello', 'echo ${{secrets.safe.KEY}}') },
      prepare: ({ admin }) =>
        admin.call('POST', '/v1/contexts', z.unknown(), { body: { name: 'safe', type: 'secret-store', data } }),
      untilReached: () => hole.used,
    }
  },
  'the repository of the document': async (stack) => {
    const hole = await openHole(stack, await containerHost())
    const template = `{location: git, repo: '${hole.url}/team/app', path: ci.yml, revision: main}`
    return { engine: await plain(), ...ofPipeline(`spec:\n  specTemplate: ${template}\n`), untilReached: () => hole.used }
  },
  'the repository of an external resource': async (stack) => {
    const hole = await openHole(stack, await containerHost())
    const resource = `{type: git, repo: '${hole.url}/team/app', revision: main, source: a.txt, destination: tools}`
    const document = `spec:\n  externalResources:\n    - ${resource}\n  steps: ${STEPS.split('steps:')[1]?.replaceAll('\n', '\n  ')}\n`
    return { engine: await plain(), ...ofPipeline(document), untilReached: () => hole.used }
  },
  'a registry with the image of the first step': async (stack) => {
    const wait = await spoil(stack, ({ path }) => path.includes('/images/create'), { kind: 'hang' })
    return { ...wait, build: { document: STEPS.replace('alpine', 'windlass/absent:1') } }
  },
  'a user at a breakpoint before the first step': async () => {
    const { SHELL_IMAGE } = await ensureImages('shell', 'tools')
    const document = STEPS.replace('alpine', String(SHELL_IMAGE))
    return { engine: await plain(), build: { document, debug: { steps: { hello: ['before'] } } }, untilReached: untilHeld }
  },
}

const STEPS = "version: '1.0'\nsteps:\n  hello:\n    image: alpine\n    commands: ['echo hello']\n"

async function untilHeld({ admin }: HttpScene, build: string): Promise<void> {
  while ((await admin.call('GET', `/v1/builds/${build}/debug`, DebugState)).held.length === 0) await systemClock.sleep(100)
}

function ofPipeline(spec: string): Pick<Wait, 'build' | 'prepare'> {
  const document = `kind: pipeline\nmetadata: {name: demo/app}\n${spec}`
  return {
    build: { pipeline: 'demo/app', document: undefined },
    prepare: ({ admin }) => admin.call('PUT', '/v1/pipelines/demo%2Fapp', Pipeline, { body: { name: 'demo/app', document } }),
  }
}

test.each(Object.entries(WAITS))('terminating a build ends the wait of its engine for %s', async (_, open) => {
  await using stack = new AsyncDisposableStack()
  const scene = stack.use(await openHttpScene())
  const wait = await open(stack)
  await wait.prepare?.(scene)
  const { id } = await scene.submit(wait.build)
  stack.defer(() => removeBuilds([id]))
  // Builds of a pipeline share a volume that is kept.
  const { items } = await scene.admin.pipelines.list()
  stack.defer(() => removeVolumes(items.map((pipeline) => `windlass-${pipeline.id}`)))
  const [task] = await scene.agent.claim()
  if (task?.kind !== 'start-attempt') throw new Error('no start task')
  const spoolDir = await mkdtemp(join(tmpdir(), 'windlass-early-stop-'))
  stack.defer(() => rm(spoolDir, { recursive: true, force: true }))
  const engine = startEngine({
    serverUrl: scene.server.url,
    bootstrap: task.engine.bootstrap,
    dockerEnv: process.env,
    spoolDir,
    clock: systemClock,
    log: silentLog,
    toolsWaitMs: WAIT_MS,
    ...wait.engine,
  })
  stack.defer(() => engine.stop())
  await scene.agent.report(task, 'done')
  const early = engine.ended.then(({ end }) => `the engine ended (${end}) before it waited`)
  expect(await Promise.race([early, wait.untilReached(scene, id).then(() => 'it waits')])).toBe('it waits')

  await scene.admin.call('POST', `/v1/builds/${id}/terminate`, Build, { body: {} })
  const slow = systemClock.sleep(CUT_MS).then(() => 'it still waits')
  expect(await Promise.race([engine.ended, slow])).toMatchObject({
    end: 'reported',
    outcome: { status: 'terminated', reason: 'cancelled' },
  })
  expect(await scene.admin.call('GET', `/v1/builds/${id}`, Build)).toMatchObject({
    status: 'terminated',
    reason: 'cancelled',
    attempts: [{ number: 1, result: 'terminated', reason: 'cancelled' }],
  })
})
