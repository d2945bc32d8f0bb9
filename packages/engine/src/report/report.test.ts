/** Tests what the server learns about log that it does not receive, and how a process handles the spool of another one. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { nodeTransport, silentLog, systemClock as clock } from '@windlass/kit'
import { createClient, EventBatch, Heartbeat, type EngineEvent } from '@windlass/protocol'
import { endLostAttempt, openReport, type Report } from './report.ts'

const STALE = JSON.stringify({
  type: 'urn:windlass:fault:attempt-stale',
  title: 'Stale',
  status: 409,
  code: 'attempt-stale',
  detail: 'The attempt has ended.',
  message: 'The attempt has ended.',
  requestId: 'r',
})

const left: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const undo of left.splice(0).toReversed()) await undo()
})

interface TestServer {
  /** Streams whose frames are refused for now. All others are accepted. */
  readonly refused: Set<string>
  /** With `holdsEnd`, the end of the attempt is stored and not answered; heartbeats that follow it are refused. */
  holdsEnd: boolean
  readonly beats: Heartbeat[]
  readonly events: EngineEvent[]
  readonly spoolDir: string
  readonly logs: Map<string, string>
  /** Opens the report of a process on the spool. */
  open(): Promise<{ report: Report; failures: readonly unknown[]; stop: () => Promise<void> }>
}

async function openTestServer(): Promise<TestServer> {
  const spoolDir = mkdtempSync(join(tmpdir(), 'report-'))
  left.push(() => rmSync(spoolDir, { recursive: true, force: true }))
  const state = {
    refused: new Set<string>(),
    holdsEnd: false,
    beats: [] as Heartbeat[],
    events: [] as EngineEvent[],
    logs: new Map<string, string>(),
  }
  const server = createServer((request, response) => {
    void (async () => {
      const body = await buffer(request)
      const stream = decodeURIComponent(String(request.headers['x-windlass-stream'] ?? ''))
      if (state.refused.has(stream)) return void response.writeHead(503).end()
      const isOver = state.events.some(({ type }) => type === 'attempt.finished')
      if (request.url?.endsWith('/heartbeat') && isOver) {
        state.holdsEnd = false
        return void response.writeHead(409, { 'content-type': 'application/problem+json' }).end(STALE)
      }
      if (request.url?.endsWith('/heartbeat')) state.beats.push(Heartbeat.parse(JSON.parse(body.toString())))
      if (request.url?.endsWith('/events')) {
        const known = state.events.at(-1)?.seq ?? 0
        state.events.push(...EventBatch.parse(JSON.parse(body.toString())).events.filter(({ seq }) => seq > known))
      }
      while (state.holdsEnd && request.url?.endsWith('/events') && state.events.some(({ type }) => type === 'attempt.finished'))
        await clock.sleep(5)
      const before = state.logs.get(stream) ?? ''
      const isNext = Number(request.headers['x-windlass-offset']) === before.length
      if (isNext) state.logs.set(stream, before + body.toString())
      const answer = { leaseMs: 1000, ackSeq: state.events.at(-1)?.seq ?? 0, offset: state.logs.get(stream)?.length ?? 0 }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  left.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const client = createClient({ url: `http://127.0.0.1:${port}`, token: 't', transport: nodeTransport() })
  const open: TestServer['open'] = async () => {
    const end = new AbortController()
    const failures: unknown[] = []
    const onFailed = (error: unknown): void => void failures.push(error)
    const common = { client, spoolDir, spoolBytes: 1e9, heartbeatMs: 20, clock, log: silentLog }
    const report = await openReport({ ...common, signal: end.signal, onFailed })
    const close = async (): Promise<void> => {
      end.abort()
      await report.journal.close()
    }
    let closed: Promise<void> | undefined
    const stop = (): Promise<void> => (closed ??= close())
    left.push(stop)
    return { report, failures, stop }
  }
  return Object.assign(state, { spoolDir, open })
}

async function until(is: () => boolean): Promise<void> {
  while (!is()) await clock.sleep(5)
}

test('sends the lengths of incomplete streams with heartbeats', async () => {
  const server = await openTestServer()
  const { report } = await server.open()
  server.refused.add('step/a')
  report.journal.append({ type: 'step.started', step: 'a', try: 1 })
  await report.journal.stream('step/b').write(Buffer.from('taken\n'))
  await report.journal.stream('step/a').write(Buffer.from('0123456789'))
  await until(() => server.logs.get('step/b') === 'taken\n')
  await until(() => JSON.stringify(server.beats.at(-1)) === '{"spooled":{"step/a":10}}')
  server.refused.clear()
  await until(() => JSON.stringify(server.beats.at(-1)) === '{"spooled":{}}')
  expect(server.logs.get('step/a')).toBe('0123456789')
})

test('sends the whole spool of a dead process before writing the end, and keeps an existing end', async () => {
  const { signal } = new AbortController()
  for (const end of [undefined, 'success'] as const) {
    const server = await openTestServer()
    server.refused.add('step/a')
    const first = await server.open()
    first.report.journal.append({ type: 'step.started', step: 'a', try: 1 })
    await first.report.journal.stream('step/a').write(Buffer.from('all of it\n'))
    await first.report.journal.flushed('step/a')
    if (end !== undefined) first.report.journal.append({ type: 'attempt.finished', outcome: { status: end }, streams: {} })
    await first.stop()

    const { report } = await server.open()
    const outcome = endLostAttempt(report, signal)
    server.refused.clear()
    expect(await outcome).toMatchObject(end === undefined ? { status: 'error', reason: 'engine-lost' } : { status: end })
    await report.drain.finish()
    expect(server.logs.get('step/a')).toBe('all of it\n')
    expect(server.events.map(({ type }) => type)).toEqual(['step.started', 'attempt.finished'])
    expect(server.events.at(-1)).toMatchObject({ outcome: { status: end ?? 'error' } })
  }
})

test('sends the end of an attempt after a power cut that removed events which the server has', async () => {
  const server = await openTestServer()
  const first = await server.open()
  for (const step of ['a', 'b', 'c']) first.report.journal.append({ type: 'step.started', step, try: 1 })
  await until(() => server.events.length === 3)
  await first.stop()
  truncateSync(join(server.spoolDir, 'journal', 'events.log'), 0)
  rmSync(join(server.spoolDir, 'journal', 'acks.json'), { force: true })

  const { report } = await server.open()
  expect(await endLostAttempt(report, new AbortController().signal)).toMatchObject({ reason: 'engine-lost' })
  await report.drain.finish()
  expect(server.events.map(({ seq, type }) => `${seq} ${type}`).at(-1)).toBe('4 attempt.finished')
})

test('reserves space for the end of the attempt', async () => {
  const server = await openTestServer()
  const { stop } = await server.open()
  expect(statSync(join(server.spoolDir, 'journal', 'reserve')).size).toBeGreaterThan(100_000)
  await stop()
})

test('a heartbeat that is refused because the end has arrived does not fail the report', async () => {
  const server = await openTestServer()
  const { report, failures } = await server.open()
  server.holdsEnd = true
  report.journal.append({ type: 'attempt.finished', outcome: { status: 'success' }, streams: {} })
  // The end is answered after a heartbeat was refused.
  await report.drain.finish()
  expect(server.holdsEnd).toBe(false)
  expect(failures).toEqual([])
})

test('a heartbeat that is refused while the attempt runs fails the report', async () => {
  const server = await openTestServer()
  const { failures } = await server.open()
  server.events.push({ type: 'attempt.finished', outcome: { status: 'error' }, streams: {}, seq: 1, at: 1 })
  await until(() => failures.length > 0)
  expect(failures).toMatchObject([{ code: 'attempt-stale' }])
})
