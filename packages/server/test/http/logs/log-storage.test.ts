/** Servers whose logs are in S3: several of them without a shared folder, and a store that is away for a while. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAgent } from '@windlass/agent'
import { isFault, nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { AgentCreated, Build, createClient, FeedItem, Runtime, type Client } from '@windlass/protocol'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { DEFAULT_SCRIPT, openFakeCluster, stepOutput } from '../../../../../e2e/support/fake-engines/index.ts'
import { startMoto, type Moto } from '../../../../../e2e/support/moto.ts'
import { startPostgres } from '../../../../../e2e/support/postgres.ts'
import { startServer } from '../../../src/index.ts'
import { compactDue } from '../../../src/logs/objects/compact.ts'
import { openFlakyStore } from '../../support/fakes/flaky-store.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { createBucket, logsIn } from '../../../../../e2e/support/log-bucket.ts'

let moto: Moto
beforeAll(async () => {
  moto = await startMoto()
})
afterAll(() => moto?.[Symbol.asyncDispose]())

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-logs-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Follows a build to its end and returns its log. */
async function followLog(client: Client, id: string, onLine: (text: string) => void = () => undefined): Promise<string> {
  let log = ''
  for await (const { event, data } of client.events(`/v1/builds/${id}/follow`, { query: { after: 0 } })) {
    if (event === 'end') return log
    const item = FeedItem.parse(JSON.parse(data))
    if (item.kind !== 'log') continue
    log += Buffer.from(item.bytes, 'base64').toString()
    onLine(log)
  }
  throw new Error('the stream ended before the build')
}

/** Returns the keys in the bucket. */
async function keysOf(bucket: string): Promise<string[]> {
  const xml = await (await fetch(`${moto.url}/${bucket}?list-type=2`)).text()
  return [...xml.matchAll(/<Key>([^<]*)<\/Key>/g)].map((match) => match[1] ?? '')
}

test('two servers with separate data folders share the logs in a bucket, and one follows what the other writes', async () => {
  await using postgres = await startPostgres({ isDurable: false })
  const bucket = await createBucket(moto.url)
  const shared = {
    ...logsIn(bucket, moto.url),
    databaseUrl: postgres.url,
    masterKey: randomBytes(32).toString('base64'),
    bootstrapCode: 'a code of some length',
    minFreeShare: 0,
  }
  await using scene = await openHttpScene(shared)
  const other = await startServer({ ...shared, dataDir: await emptyFolder() })
  try {
    const reader = createClient({ url: other.url, token: scene.adminToken, transport: nodeTransport() })
    const { build, engine } = await scene.start()
    const first = Promise.withResolvers<void>()
    const following = followLog(reader, build.id, (log) => log.includes('one\n') && first.resolve())
    await engine.log('step/hello', 'one\n')
    await first.promise
    const rest = Array.from({ length: 60 }, (_, n) => `line ${n} ${'.'.repeat(n * 50)}\n`)
    for (const line of rest) await engine.log('step/hello', line)
    await engine.finish({ status: 'success' })
    const whole = `one\n${rest.join('')}`
    expect(await following).toBe(whole)
    // The bucket holds the log, and neither folder does.
    expect((await keysOf(bucket)).filter((key) => key.startsWith('windlass/logs/20')).length).toBeGreaterThan(50)
    expect(other.app.logs.folder).toBeUndefined()
    expect(await reader.text('GET', `/v1/builds/${build.id}/log`)).toBe(whole)
    expect(await followLog(scene.admin, build.id)).toBe(whole)
  } finally {
    await other.close()
  }
})

test('refuses a bucket with the logs of another database, and a database whose logs are elsewhere', async () => {
  const bucket = await createBucket(moto.url)
  await using scene = await openHttpScene(logsIn(bucket, moto.url))
  const { engine } = await scene.start()
  await engine.log('step/hello', 'one\n')
  await expect(startServer({ dataDir: await emptyFolder(), ...logsIn(bucket, moto.url) })).rejects.toMatchObject({
    code: 'config-invalid',
    message: `The log bucket s3://${bucket}/windlass/logs belongs to another database.`,
    hint: expect.stringContaining('a prefix without logs'),
  })
  const { dataDir } = scene
  await scene.server.close()
  await expect(startServer({ dataDir, ...logsIn(await createBucket(moto.url), moto.url) })).rejects.toMatchObject({
    code: 'config-invalid',
    message: expect.stringContaining('does not belong to this database'),
  })
})

test('merges the objects of a build in a bucket and deletes the small ones', async () => {
  const bucket = await createBucket(moto.url)
  const dataDir = await emptyFolder()
  const options = { ...logsIn(bucket, moto.url), minFreeShare: 0 }
  await using scene = await openHttpScene({ ...options, dataDir })
  const { build, engine } = await scene.start()
  const lines = Array.from({ length: 40 }, (_, n) => `line ${n}\n`)
  for (const line of lines) await engine.log('step/hello', line)
  await engine.finish({ status: 'success' })
  const { app } = scene.server
  const later = { ...app, clock: { ...app.clock, now: () => app.clock.now() + 3 * 60_000 } }
  await compactDue(later)
  expect(await app.store.query.selectFrom('chunk').select('object').distinct().execute()).toHaveLength(1)
  expect(await followLog(scene.admin, build.id)).toBe(lines.join(''))
  await compactDue({ ...app, clock: { ...app.clock, now: () => app.clock.now() + 25 * 3_600_000 } })
  const keys = await keysOf(bucket)
  expect(keys.filter((key) => key.startsWith('windlass/logs/20'))).toHaveLength(1)
  expect(await scene.admin.text('GET', `/v1/builds/${build.id}/log`)).toBe(lines.join(''))
})

/** Registers an agent with fake engines, which have the spool and the drain of real ones. */
async function startEngines(scene: HttpScene, logBytes: number): Promise<AsyncDisposable> {
  const { token } = await scene.admin.call('POST', '/v1/agents', AgentCreated, { body: { name: 'fakes' } })
  const body = { name: 'fakes', type: 'fake', agent: 'fakes' }
  await scene.admin.call('POST', '/v1/runtimes', Runtime, { body })
  const transport = nodeTransport({ maxSockets: 64 })
  const cluster = openFakeCluster({
    transport,
    clock: systemClock,
    log: silentLog,
    script: { logBytes: [logBytes, logBytes], stepMs: [2_000, 2_000], pieceBytes: 16_384 },
  })
  const client = createClient({ url: scene.server.url, token, transport })
  const agent = startAgent({ client, executor: cluster.executor, clock: systemClock, log: silentLog })
  await agent.ready
  return {
    async [Symbol.asyncDispose]() {
      await agent.close(1_000)
      await cluster.close()
    },
  }
}

test('output that is written while the store is away is not acknowledged, and arrives completely when it is back', async () => {
  await using flaky = await openFlakyStore(moto.url)
  const bucket = await createBucket(moto.url)
  await using scene = await openHttpScene(logsIn(bucket, flaky.url))
  const { app } = scene.server
  await using _engines = await startEngines(scene, 400_000)
  const ready = async (): Promise<string> => (await fetch(`${scene.server.url}/readyz`)).text()
  expect(await ready()).toBe('ok\n')

  flaky.decide = () => 'lose'
  const { id } = await scene.submit({ document: HELLO, runtime: 'fakes' })
  while (app.logs.failingSince() === undefined) await systemClock.sleep(20)
  await systemClock.sleep(4_000)
  // The step has ended by now. Its end waits for its log, and nothing of it is stored.
  expect(await app.store.query.selectFrom('chunk').selectAll().execute()).toEqual([])
  expect(await app.store.query.selectFrom('stream').selectAll().execute()).toEqual([])
  expect((await scene.admin.call('GET', `/v1/builds/${id}`, Build)).status).toBe('running')
  expect(await ready()).toMatch(/^ok\nlogs: not writable since 20.*Z\n$/)
  expect(await app.metricsPage()).toMatch(/^windlass_log_storage_failing 1$/m)

  flaky.decide = () => 'pass'
  const log = await followLog(scene.admin, id)
  const { masked } = stepOutput({ ...DEFAULT_SCRIPT, logBytes: [400_000, 400_000] }, { buildId: id, attempt: 1, step: 'hello' })
  expect(log).toContain(masked.toString())
  expect(log.length - masked.length).toBeLessThan(1_000)
  expect(await scene.admin.call('GET', `/v1/builds/${id}`, Build)).toMatchObject({ status: 'success', attempt: 1 })
  expect(await ready()).toBe('ok\n')
})

test('refuses frames at once while the store is away, instead of keeping them in memory', async () => {
  await using flaky = await openFlakyStore(moto.url)
  await using scene = await openHttpScene({ ...logsIn(await createBucket(moto.url), flaky.url), s3Limits: { tries: 1 } })
  const { engine } = await scene.start()
  flaky.decide = () => 'hang'
  const before = flaky.calls.length
  const append = vi.spyOn(scene.server.app.logs, 'append')
  let refused = 0
  // Two of them are written at once, and the others wait for those two. An attempt may send eight at once.
  const streams = Array.from({ length: 30 }, (_, n) => `step/s${n}`)
  const frames = streams.map((stream) => engine.log(stream, 'text\n'))
  for (const frame of frames) frame.catch((error: unknown) => isFault(error, 'rate-limited') && (refused += 1))
  // All have arrived before the writes fail.
  await expect.poll(() => [refused, append.mock.calls.length]).toEqual([22, 8])
  flaky.decide = () => 'lose'
  flaky.dropHanging()
  const results = await Promise.allSettled(frames)
  const codes = results.map((result) => result.status === 'rejected' && isFault(result.reason) && result.reason.code)
  expect(codes.filter((code) => code === 'rate-limited').length).toBeLessThanOrEqual(22)
  expect(codes.filter((code) => code !== 'rate-limited')).toEqual(Array.from({ length: 8 }, () => 'unavailable'))
  expect(flaky.calls.slice(before).filter(({ method }) => method === 'PUT').length).toBeLessThanOrEqual(4)
  flaky.decide = () => 'pass'
  // An engine repeats a refused frame.
  await expect.poll(() => engine.log('step/s0', 'text\n')).toBe(5)
})
