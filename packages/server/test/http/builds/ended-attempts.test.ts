/** Rejection of calls with credentials of ended attempts. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createClient, EngineDocumentAnswer, EventAck, TerminalOutputAck, TerminalRecord } from '@windlass/protocol'
import { nodeTransport, sha256 } from '@windlass/kit'
import { expect, test } from 'vitest'
import { startEngine, type TestEngine } from '../../support/fakes/fake-agent.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

function filesOf(scene: HttpScene): string[] {
  return readdirSync(join(scene.dataDir, 'logs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
}

const line = Buffer.from('late\n')

function sendFrame({ client }: TestEngine, offset: number): Promise<string> {
  const headers = {
    'x-windlass-stream': 'system',
    'x-windlass-offset': String(offset),
    'x-windlass-sha256': sha256(line),
    'x-windlass-at': '1',
  }
  return client.text('POST', '/v1/engine/logs', { body: line, headers })
}

/** All calls of an engine, each of which must be rejected permanently. */
function allCalls(engine: TestEngine): Promise<unknown>[] {
  const { client } = engine
  return [
    sendFrame(engine, 0),
    client.call('POST', '/v1/engine/document', EngineDocumentAnswer, { body: { text: 'steps: {}' } }),
    client.text('POST', '/v1/engine/heartbeat', { body: {} }),
    client.text('GET', '/v1/engine/commands'),
    client.text('GET', '/v1/engine/docker'),
    client.text('GET', `/v1/engine/terminals/${'f'.repeat(24)}/input`),
    client.call('POST', `/v1/engine/terminals/${'f'.repeat(24)}/output`, TerminalOutputAck, {
      body: { seq: 1, ackSeq: 0, output: '' },
    }),
    engine.event({ type: 'step.started', step: 'hello', try: 2 }),
  ]
}

async function lose(scene: HttpScene, buildId: string): Promise<TestEngine> {
  await scene.agent.fact({ buildId, attempt: 1, state: 'lost', reason: 'node-lost' })
  await scene.agent.fact({ buildId, attempt: 1, state: 'gone' })
  for (;;) {
    for (const task of await scene.agent.claim()) if (task.kind === 'start-attempt') return startEngine(scene.server.url, task)
  }
}

test('rejects the token of an ended attempt and writes nothing to the disk', async () => {
  await using scene = await openHttpScene()
  const { engine, task } = await scene.start()
  await engine.log('step/hello', 'hello\n')
  await engine.finish({ status: 'success' })
  const before = filesOf(scene)
  for (const [index, attempt] of (await Promise.allSettled(allCalls(engine))).entries())
    expect([index, attempt]).toMatchObject([index, { status: 'rejected', reason: { code: 'attempt-stale', status: 409 } }])
  expect(filesOf(scene)).toEqual(before)
  await expect(startEngine(scene.server.url, task)).rejects.toMatchObject({ code: 'attempt-stale' })
})

test.each([{ status: 'success' } as const, { status: 'error', reason: 'engine-lost' } as const])(
  'returns the last response again to an engine that did not receive it, after %j',
  async (outcome) => {
    await using scene = await openHttpScene()
    const { engine } = await scene.start()
    const end = { type: 'attempt.finished', outcome, streams: {}, seq: 1, at: 1 } as const
    for (const _ of [1, 2])
      expect(await engine.client.call('POST', '/v1/engine/events', EventAck, { body: { events: [end] } })).toEqual({ ackSeq: 1 })
  },
)

test('rejects the token of a lost attempt while the next attempt runs', async () => {
  await using scene = await openHttpScene()
  const { engine, build } = await scene.start()
  const second = await lose(scene, build.id)
  await second.log('step/hello', 'hello\n')
  const before = filesOf(scene)
  for (const [index, attempt] of (await Promise.allSettled(allCalls(engine))).entries())
    expect([index, attempt]).toMatchObject([index, { status: 'rejected', reason: { code: 'attempt-stale' } }])
  expect(filesOf(scene)).toEqual(before)
  expect(await second.log('step/hello', 'and on\n')).toBe(13)
})

test('restricts a terminal to the attempt in which it was opened', async () => {
  await using scene = await openHttpScene()
  const { engine, build } = await scene.start({ debug: {} })
  await engine.event({ type: 'step.waiting', step: 'hello', reason: 'debugger', phase: 'before' })
  const { id } = await scene.admin.call('POST', `/v1/builds/${build.id}/terminals`, TerminalRecord, {
    body: { columns: 80, rows: 24 },
  })
  const second = await lose(scene, build.id)
  await expect(second.client.text('GET', `/v1/engine/terminals/${id}/input`)).rejects.toMatchObject({ code: 'not-found' })
  const type = { seq: 1, parts: [{ keys: Buffer.from('id\n').toString('base64') }] }
  await expect(scene.admin.text('POST', `/v1/builds/${build.id}/terminals/${id}/input`, { body: type })).rejects.toMatchObject({
    code: 'not-held',
  })
})

test('rejects the token of an ended build also on public routes', async () => {
  await using scene = await openHttpScene()
  const { engine } = await scene.start()
  const client = createClient({ url: scene.server.url, token: engine.claimed.buildToken, transport: nodeTransport() })
  await client.text('GET', '/v1/status')
  await engine.succeed()
  await expect(client.text('GET', '/v1/status')).rejects.toMatchObject({ code: 'unauthenticated' })
  await expect(client.text('GET', '/v1/builds')).rejects.toMatchObject({ code: 'unauthenticated' })
})
