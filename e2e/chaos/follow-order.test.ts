/** A server that is killed repeatedly during a build on real Docker. Followers receive the items of each step in order. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dockerExecutor, startAgent } from '@windlass/agent'
import { openDocker } from '@windlass/engine'
import { nodeTransport, silentLog, systemClock as clock } from '@windlass/kit'
import { openClient } from '@windlass/client'
import { openSandbox, type Sandbox } from '../../packages/cli/test/support.ts'
import { openDockerHost } from '../../packages/local/src/docker-host.ts'
import { collectBuild } from './driver/collect.ts'
import { firstAdmin } from '../support/first-admin.ts'
import { dataDirOf, startServers } from './driver/stage.ts'
import { checkStepEnds } from './history/check-logs.ts'
import { memoryFolder } from '../support/memory-folder.ts'

const CHAIN = Array.from({ length: 14 }, (_, n) => `s${String(n + 1).padStart(2, '0')}`)
/** Runs in parallel with the chain, so that ends and lines of several steps wait at the same time. */
const BESIDE = ['left', 'right']
const LINES = 12
const KILLS = 3
/** How long the server stays down. Several steps end in that time. */
const DOWN_MS = 2_500

let sandbox: Sandbox

beforeAll(async () => {
  sandbox = await openSandbox()
})

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]()
})

function document(): string {
  const lines = (step: string, pause: string): string[] => [
    `for n in $(seq 1 ${LINES}); do echo "${step} line $n"; sleep ${pause}; done`,
  ]
  const image = sandbox.images['SHELL_IMAGE']
  const chain = CHAIN.map((name, n) => [
    name,
    { image, commands: lines(name, '0.02'), ...(n > 0 && { when: { steps: [{ name: CHAIN[n - 1], on: ['success'] }] } }) },
  ])
  const beside = BESIDE.map((name) => [name, { image, commands: lines(name, '0.4') }])
  return JSON.stringify({ version: '1.0', mode: 'parallel', steps: Object.fromEntries([...chain, ...beside]) })
}

test('a follower sees start, log and end of each step in order across three kills of the server', async () => {
  await using stack = new AsyncDisposableStack()
  const folder = await memoryFolder('windlass-order-')
  stack.defer(() => rm(folder, { recursive: true }))
  const [server] = await startServers({ folder, replicas: 1, advertisedUrl: 'http://127.0.0.1:1', timings: {} })
  if (server === undefined) throw new Error('no server')
  stack.defer(() => server.child.kill().then(() => undefined))
  const url = `http://127.0.0.1:${server.port}`
  const bare = openClient({ url, transport: nodeTransport() })
  const { token } = await bare.server.bootstrap(await firstAdmin(dataDirOf(folder)))
  const client = bare.withToken(token)
  const agent = await client.agents.create({ name: 'docker', runtimes: ['docker'] })
  await client.runtimes.create({ name: 'docker', type: 'docker', agent: 'docker', isDefault: true })
  const docker = await openDocker({ env: process.env })
  stack.defer(() => docker.close())
  const parts = await openDockerHost({
    docker,
    folder: join(folder, 'agent'),
    serverUrl: url,
    environment: process.env,
    clock,
    log: silentLog,
  })
  const running = startAgent({
    client: bare.withToken(agent.token),
    executor: dockerExecutor(parts),
    clock,
    log: silentLog,
    waitMs: 2_000,
  })
  stack.defer(() => running.close(2_000))
  await running.ready

  const { id } = await client.builds.create({ document: document(), runtime: 'docker' })
  const follower = sandbox.start(['logs', '-f', id], { env: { WINDLASS_URL: url, WINDLASS_API_KEY: token } })
  for (let n = 0; n < KILLS; n += 1) {
    // A step of the chain that no earlier kill has affected.
    await follower.says(`${CHAIN[1 + n * 4]} line 1\n`)
    expect(await server.child.kill()).toBe(true)
    await clock.sleep(DOWN_MS)
    await server.child.start()
  }
  const { code, stdout } = await follower.finished
  expect(code, stdout).toBe(0)
  for (const step of [...CHAIN, ...BESIDE]) {
    const shown = stdout.split('\n').map((line) => line.replace(/^\S+ \| /, ''))
    const own = shown.flatMap((line, at) => (line.startsWith(`${step} line `) ? [at] : []))
    expect(own, `${step}: ${stdout}`).toHaveLength(LINES)
    expect(shown.indexOf(`▶ ${step}`), step).toBeLessThan(own[0] ?? -1)
    expect(
      shown.findIndex((line) => line.startsWith(`✔ ${step}`)),
      step,
    ).toBeGreaterThan(own.at(-1) ?? Infinity)
  }
  const record = await collectBuild(client, id)
  expect(record.attempts).toHaveLength(1)
  expect(record.feed.filter(({ kind }) => kind === 'log').length).toBeGreaterThan(CHAIN.length)
  expect([...checkStepEnds([record])]).toEqual([])
})
