/** Calls to the daemon that are carried out while their response is lost: nothing is created or run twice. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { newId, systemClock } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHttpProxy } from '../../../e2e/chaos/faults/http-proxy.ts'
import { runProgram } from '../../../e2e/support/process.ts'
import { runContainer } from '../src/containers/run-container.ts'
import type { ContainerSpec } from '../src/docker/containers.ts'
import { openDocker, type Docker } from '../src/index.ts'
import { image } from './support/images.ts'

const SOCKET = '/var/run/docker.sock'
let folder: string
let docker: Docker

beforeAll(async () => {
  docker = await openDocker({ env: { DOCKER_HOST: `unix://${SOCKET}` } })
  folder = await mkdtemp(join(tmpdir(), 'windlass-answers-'))
})
afterAll(async () => {
  docker.close()
  await rm(folder, { recursive: true, force: true })
})

interface Cut extends AsyncDisposable {
  readonly through: Docker
  /** Labels of everything that the test creates. */
  readonly labels: Readonly<Record<string, string>>
  readonly spec: ContainerSpec
  cuts(): number
  /** Returns the states of the created containers. */
  containers(): Promise<string[]>
}

/** Opens a daemon whose first response to such a call is lost, a second after the call was carried out. */
async function cutFirst(path: RegExp, more: Partial<ContainerSpec> = {}): Promise<Cut> {
  let cuts = 0
  const proxy = await openHttpProxy({
    target: () => ({ socketPath: SOCKET }),
    decide: (call) => {
      if (cuts > 0 || call.method !== 'POST' || !path.test(call.path)) return { kind: 'pass' }
      cuts += 1
      return { kind: 'cut-reply', delayMs: 1_000 }
    },
  })
  const through = await openDocker({ env: { DOCKER_HOST: `tcp://127.0.0.1:${proxy.port}` } })
  const labels = { 'windlass.test': newId(Date.now()) }
  const filter = ['--filter', `label=windlass.test=${labels['windlass.test']}`]
  const list = async (...args: string[]): Promise<string[]> =>
    (await runProgram('docker', [...args, ...filter])).split('\n').filter((line) => line !== '')
  return {
    through,
    labels,
    spec: { image: image('shell'), environment: [], labels, mounts: [], network: 'none', stdin: false, ...more },
    cuts: () => cuts,
    containers: () => list('ps', '--all', '--format', '{{.State}}'),
    async [Symbol.asyncDispose]() {
      through.close()
      await proxy[Symbol.asyncDispose]()
      for (const id of await list('ps', '--all', '--quiet')) await docker.removeContainer(id)
      for (const id of await list('network', 'ls', '--quiet')) await docker.removeNetwork(id)
    },
  }
}

/** Runs a container through the proxy. Returns its output and exit code. */
async function run({ through, spec }: Cut): Promise<string> {
  const output: Buffer[] = []
  const { exitCode } = await runContainer(
    {
      docker: through,
      clock: systemClock,
      spec,
      onOutput: async (parts) => void output.push(...parts.map(({ bytes }) => bytes)),
      signal: AbortSignal.timeout(60_000),
      graceMs: 1_000,
    },
    () => undefined,
  )
  return `${Buffer.concat(output).toString()}exit ${exitCode}`
}

test('creates one container if the response to its creation is lost', async () => {
  await using cut = await cutFirst(/\/containers\/create/, { command: ['echo', 'hello'] })
  expect(await run(cut)).toBe('hello\nexit 0')
  expect(await cut.containers()).toEqual(['exited'])
  expect(cut.cuts()).toBe(1)
})

test('runs a container once if the response to its start is lost', async () => {
  const mounts = [{ type: 'bind' as const, source: folder, target: '/out', readOnly: false }]
  await using cut = await cutFirst(/\/start$/, { command: ['sh', '-c', 'echo run >> /out/runs; echo hello; exit 3'], mounts })
  expect(await run(cut)).toBe('hello\nexit 3')
  expect(await readFile(join(folder, 'runs'), 'utf8')).toBe('run\n')
  expect(cut.cuts()).toBe(1)
})

test('reports why a container cannot be started if that response is lost', async () => {
  await using cut = await cutFirst(/\/start$/, { command: ['/absent'] })
  await expect(run(cut)).rejects.toMatchObject({ code: 'docker-refused', message: expect.stringContaining('/absent') })
  expect(cut.cuts()).toBe(1)
})

test('creates one network if the response to its creation is lost', async () => {
  await using cut = await cutFirst(/\/networks\/create/)
  const id = await cut.through.createNetwork(`windlass-test-${cut.labels['windlass.test']}`, cut.labels)
  expect((await docker.listNetworks([`windlass.test=${cut.labels['windlass.test']}`])).map((network) => network.id)).toEqual([id])
  expect(cut.cuts()).toBe(1)
})

test('starts one process for a terminal if the response to its creation is lost', async () => {
  await using cut = await cutFirst(/\/containers\/[^/]+\/exec$/, { command: ['sleep', '100'] })
  const id = await cut.through.createContainer(cut.spec)
  await cut.through.startContainer(id)
  const { terminal } = await cut.through.execTerminal(id, { command: ['echo', 'hello'], environment: [] })
  expect(await text(terminal)).toBe('hello\r\n')
  expect(cut.cuts()).toBe(1)
})

test('does not start a second process for a terminal if the connection of the first is lost', async () => {
  await using cut = await cutFirst(/\/exec\/[^/]+\/start$/, { command: ['sleep', '100'] })
  const id = await cut.through.createContainer(cut.spec)
  await cut.through.startContainer(id)
  const opened = cut.through.execTerminal(id, { command: ['sleep', '77'], environment: [] })
  await expect(opened).rejects.toMatchObject({ code: 'docker-unreachable' })
  const running = async (): Promise<number> => {
    const processes = await runProgram('docker', ['top', id, '-eo', 'pid,args'])
    return processes.split('\n').filter((line) => line.includes('sleep 77')).length
  }
  // The daemon starts the process after the connection is lost.
  await expect.poll(running).toBeGreaterThan(0)
  expect(await running()).toBe(1)
  expect(cut.cuts()).toBe(1)
})
