/** An engine on real Docker that is killed with log in its spool and restarted on that spool, as the kubelet does. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { openJournal, type StreamTotal } from '@windlass/journal'
import { nodeTransport, sha256, systemClock as clock } from '@windlass/kit'
import { openClient, type ApiClient } from '@windlass/client'
import type { Build, FeedItem, StartTask } from '@windlass/protocol'
import { helloAgent, type TestAgent } from '../../packages/server/test/support/fakes/fake-agent.ts'
import { firstAdmin } from '../support/first-admin.ts'
import { ensureImages } from '../support/images.ts'
import { runProgram } from '../support/process.ts'
import { NODE_OPTIONS, programFile } from '../support/programs.ts'
import { dataDirOf, startServers, type ServerProcess } from './driver/stage.ts'
import { memoryFolder } from '../support/memory-folder.ts'

const LINES = 120
/** Lines after which the step waits until the test creates a file: it must not end before the test has killed something. */
const WAITS = { go: 40, end: 100 } as const
type Wait = keyof typeof WAITS
const NOWHERE = 'tcp://127.0.0.1:1'
const KILLED = 'The engine ended: exit code 137.'

interface Stage extends AsyncDisposable {
  readonly server: ServerProcess
  readonly client: ApiClient
  /** The current agent, as the server knows it. */
  agent(): Promise<TestAgent>
  submit(): Promise<Build>
  spoolOf(task: StartTask): string
  /** An engine on the spool of the task. If it is running when the test ends, it is killed. */
  engine(task: StartTask, dockerHost?: string): ChildProcess
}

async function openStage(): Promise<Stage> {
  await using stack = new AsyncDisposableStack()
  const images = await ensureImages('shell', 'tools')
  const folder = await memoryFolder('windlass-killed-')
  stack.defer(() => rm(folder, { recursive: true }))
  const [server] = await startServers({ folder, replicas: 1, advertisedUrl: 'http://127.0.0.1:1', timings: {} })
  if (server === undefined) throw new Error('no server')
  stack.defer(() => server.child.kill().then(() => undefined))
  const url = `http://127.0.0.1:${server.port}`
  const bare = openClient({ url, transport: nodeTransport() })
  const { token } = await bare.server.bootstrap(await firstAdmin(dataDirOf(folder)))
  const client = bare.withToken(token)
  const { token: agentToken } = await client.agents.create({ name: 'agent', runtimes: [] })
  await client.runtimes.create({ name: 'local', type: 'fake', agent: 'agent', isDefault: true })
  const waits = Object.entries(WAITS).map(([file, n]) => `test $n != ${n} || until test -e /tmp/${file}; do sleep 0.1; done`)
  const loop = `for n in $(seq 1 ${LINES}); do echo "line $n"; ${waits.join('; ')}; sleep 0.05; done`
  const steps = { count: { image: images['SHELL_IMAGE'], commands: [loop] } }
  const spoolOf = ({ buildId, attempt }: StartTask): string => join(folder, `${buildId}.${attempt}`)
  const { DOCKER_HOST: dockerHost = 'unix:///var/run/docker.sock' } = process.env
  const ready = stack.move()
  return {
    server,
    client,
    agent: () => helloAgent(url, agentToken),
    async submit() {
      const build = await client.builds.create({ document: JSON.stringify({ version: '1.0', steps }) })
      ready.defer(() => removeBuild(build.id))
      return build
    },
    spoolOf,
    engine(task, host = dockerHost) {
      const options = {
        serverUrl: url,
        bootstrap: task.engine.bootstrap,
        dockerEnv: { ...process.env, DOCKER_HOST: host },
        spoolDir: spoolOf(task),
        toolsImage: images['TOOLS_IMAGE'],
      }
      const args = [...NODE_OPTIONS, programFile('chaos-engine'), JSON.stringify(options)]
      const engine = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
      ready.defer(async () => kill(engine))
      return engine
    },
    [Symbol.asyncDispose]: () => ready[Symbol.asyncDispose](),
  }
}

/** What a killed engine leaves on this machine. */
async function removeBuild(id: string): Promise<void> {
  const label = `label=windlass.io/build=${id}`
  const containers = (await runProgram('docker', ['ps', '--all', '--quiet', '--filter', label]))
    .split('\n')
    .filter((line) => line !== '')
  if (containers.length > 0) await runProgram('docker', ['rm', '--force', ...containers])
  await runProgram('docker', ['volume', 'rm', '--force', `windlass-${id}`, `windlass-build-${id}`])
}

/** Lets the step of an attempt continue at its waits, as soon as its container runs. */
async function letGo({ buildId, attempt }: Pick<StartTask, 'buildId' | 'attempt'>, ...waits: readonly Wait[]): Promise<void> {
  const labels = [`build=${buildId}`, `attempt=${attempt}`, 'step=count']
  const filters = labels.flatMap((label) => ['--filter', `label=windlass.io/${label}`])
  const files = waits.map((wait) => `/tmp/${wait}`)
  await until(async () => {
    const id = await runProgram('docker', ['ps', '--quiet', ...filters])
    if (id === '') return undefined
    // A container can be listed before it takes commands.
    return runProgram('docker', ['exec', id, 'touch', ...files]).catch(() => undefined)
  })
}

async function kill(engine: ChildProcess): Promise<void> {
  if (engine.exitCode !== null || engine.signalCode !== null) return
  const exited = once(engine, 'exit')
  engine.kill('SIGKILL')
  await exited
}

/** How an engine ended by itself. */
async function endOf(engine: ChildProcess): Promise<unknown> {
  if (engine.stdout === null) throw new Error('no output')
  const said = text(engine.stdout)
  const [code] = await once(engine, 'exit')
  expect(code).toBe(0)
  return JSON.parse(await said)
}

async function nextStart(agent: TestAgent, attempt: number): Promise<StartTask> {
  for (;;) {
    for (const task of await agent.claim()) {
      await agent.report(task, 'done')
      if (task.kind === 'start-attempt' && task.attempt === attempt) return task
    }
  }
}

async function feed(client: ApiClient, id: string): Promise<FeedItem[]> {
  const items: FeedItem[] = []
  for (;;) {
    const query = { after: items.at(-1)?.position ?? 0 }
    const page = await client.builds.feed(id, { query })
    if (page.items.length === 0) return items
    items.push(...page.items)
  }
}

/** Returns the log of an attempt, each byte once and in order. Throws if a frame does not follow the previous one. */
function logsOf(items: readonly FeedItem[], attempt: number): Map<string, Buffer> {
  const logs = new Map<string, Buffer>()
  for (const item of items) {
    if (item.kind !== 'log' || item.attempt !== attempt) continue
    const before = logs.get(item.stream) ?? Buffer.alloc(0)
    expect([item.stream, item.offset]).toEqual([item.stream, before.length])
    logs.set(item.stream, Buffer.concat([before, Buffer.from(item.bytes, 'base64')]))
  }
  return logs
}

/** Returns what a dead engine left: length and hash of each stream. Does not change the spool. */
async function totalsOf(spool: string): Promise<Record<string, StreamTotal>> {
  const copy = `${spool}.copy`
  await copySpool(spool, copy)
  const dir = join(copy, 'journal')
  const journal = await openJournal({ dir, clock, limitBytes: 1e9, decode: (value) => value as { seq: number; at: number } })
  const totals = await journal.totals()
  await journal.close()
  await rm(copy, { recursive: true })
  return totals
}

/** Copies the spool of an engine that may run, without a file that is about to be renamed. */
async function copySpool(spool: string, copy: string): Promise<void> {
  await cp(spool, copy, { recursive: true, filter: (path) => !path.endsWith('.new') })
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    // A look starts programs of Docker, or reads a whole spool.
    await clock.sleep(200)
  }
}

const lines = (log: Buffer | undefined): string[] =>
  (log ?? '')
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('line '))

test.each([
  ['', undefined],
  [', and whose daemon is gone,', NOWHERE],
])(
  'an engine that is killed while the server is unreachable%s sends its whole spool once before the next attempt starts',
  async (_, host) => {
    await using stage = await openStage()
    const { server, client } = stage
    const { id } = await stage.submit()
    const first = await nextStart(await stage.agent(), 1)
    const engine = stage.engine(first)
    await until(async () => (lines(logsOf(await feed(client, id), 1).get('step/count')).length > 5 ? true : undefined))
    await server.child.kill()
    const before = (await totalsOf(stage.spoolOf(first)))['step/count']?.bytes ?? 0
    await letGo(first, 'go')
    await until(async () => (((await totalsOf(stage.spoolOf(first)))['step/count']?.bytes ?? 0) > before + 50 ? true : undefined))
    await kill(engine)
    const written = await totalsOf(stage.spoolOf(first))
    await server.child.start()

    const sent = (await feed(client, id)).reduce(
      (sum, item) => sum + (item.kind === 'log' ? Buffer.from(item.bytes, 'base64').length : 0),
      0,
    )
    expect(sent).toBeLessThan(Object.values(written).reduce((sum, { bytes }) => sum + bytes, 0))
    const agent = await stage.agent()
    await agent.fact({
      buildId: id,
      attempt: 1,
      object: 'engine-x',
      state: 'lost',
      reason: 'engine-lost',
      message: KILLED,
      engineMayReport: true,
    })
    expect(await endOf(stage.engine(first, host))).toMatchObject({ end: 'reported', outcome: { reason: 'engine-lost' } })
    const second = await nextStart(agent, 2)

    const items = await feed(client, id)
    const sums = [...logsOf(items, 1)].map(([stream, log]) => [stream, { bytes: log.length, sha256: sha256(log) }])
    expect(Object.fromEntries(sums)).toEqual(written)
    const events = items.flatMap((item) => (item.kind === 'event' ? [item.type] : []))
    expect(events).not.toContain('log.incomplete')
    expect(items.findLastIndex(({ kind, attempt }) => kind === 'log' && attempt === 1)).toBeLessThan(
      items.findIndex((item) => item.kind === 'event' && item.type === 'attempt.lost'),
    )
    expect(items.flatMap((item) => (item.kind === 'event' && item.type === 'attempt.lost' ? [item.data] : []))).toEqual([
      { reason: 'engine-lost', message: KILLED, retry: true, retryDecision: 'retried' },
    ])

    const [end] = await Promise.all([endOf(stage.engine(second)), letGo(second, 'go', 'end')])
    expect(end).toMatchObject({ end: 'reported', outcome: { status: 'success' } })
    expect(lines(logsOf(await feed(client, id), 2).get('step/count'))).toEqual(
      Array.from({ length: LINES }, (_, n) => `line ${n + 1}`),
    )
    await agent.claim()
  },
)

test('an engine that was killed after its last step during a server outage ends its build after its restart', async () => {
  await using stage = await openStage()
  const { server, client } = stage
  const { id } = await stage.submit()
  const task = await nextStart(await stage.agent(), 1)
  const engine = stage.engine(task)
  await until(async () => (lines(logsOf(await feed(client, id), 1).get('step/count')).length > 5 ? true : undefined))
  await server.child.kill()
  await letGo(task, 'go', 'end')
  await until(async () => {
    const copy = `${stage.spoolOf(task)}.look`
    await copySpool(stage.spoolOf(task), copy)
    const dir = join(copy, 'journal')
    const journal = await openJournal({
      dir,
      clock,
      limitBytes: 1e9,
      decode: (value) => value as { seq: number; at: number; type: string },
    })
    const types = journal.nextEvents(Infinity).map(({ type }) => type)
    await journal.close()
    await rm(copy, { recursive: true })
    return types.includes('attempt.finished') ? true : undefined
  })
  await kill(engine)
  await server.child.start()
  expect(await endOf(stage.engine(task, NOWHERE))).toMatchObject({ end: 'reported', outcome: { status: 'success' } })
  expect(await client.builds.get(id)).toMatchObject({ status: 'success', attempt: 1 })
  expect(lines(logsOf(await feed(client, id), 1).get('step/count'))).toHaveLength(LINES)
})

test('an engine that was killed before its first event does not run the attempt after its restart', async () => {
  await using stage = await openStage()
  const { client } = stage
  const { id } = await stage.submit()
  const agent = await stage.agent()
  const task = await nextStart(agent, 1)
  const engine = stage.engine(task, NOWHERE)
  await until(async () => ((await client.builds.get(id)).status === 'running' ? true : undefined))
  await kill(engine)
  expect(await endOf(stage.engine(task))).toMatchObject({ end: 'reported', outcome: { reason: 'engine-lost' } })
  await nextStart(agent, 2)
  expect(logsOf(await feed(client, id), 1).size).toBe(0)
})
