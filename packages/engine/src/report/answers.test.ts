/** Tests which responses end the report of an engine and which only delay it, over HTTP, including those of proxies and failing servers. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, json } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { openJournal, type Journal } from '@windlass/journal'
import { fault, nodeTransport, silentLog, systemClock, type Clock, type FaultCode } from '@windlass/kit'
import { createClient, EventBatch, type Client, type EngineEvent } from '@windlass/protocol'
import { claim, compileDocument, openClaimKey } from './claim.ts'
import { startDrain, type Drain } from './drain.ts'
import { openFirstContact } from './first-contact.ts'
import { keepLease } from './lease.ts'
import { readSpooled } from './refused.ts'
import { serverSink } from './server-sink.ts'

type Reply = (response: ServerResponse, request: IncomingMessage) => void

const page =
  (status: number): Reply =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>the page of an ingress</h1>')

/** Responds like the server. */
function problem(code: FaultCode, type = 'application/problem+json'): Reply {
  const { status, message, hint } = fault(code)
  const body = {
    type: `urn:windlass:fault:${code}`,
    title: message,
    status,
    detail: message,
    message,
    code,
    hint,
    requestId: 'r-1',
  }
  return (response) => void response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body))
}

const reset: Reply = (_response, request) => void request.socket.resetAndDestroy()
const cut: Reply = (response, request) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' }).write('{"ackSeq":')
  setImmediate(() => request.socket.resetAndDestroy())
}

const TRANSIENT: readonly (readonly [name: string, reply: Reply])[] = [
  ['the 500 of a bug', problem('internal')],
  ['a 507', problem('storage-full')],
  ['a 429', problem('rate-limited')],
  ['a 403 of the server', problem('forbidden')],
  ['a 404 of an ingress', page(404)],
  ['a 403 of an ingress', page(403)],
  ['a 401 of an ingress', page(401)],
  ['a 400 of an ingress', page(400)],
  ['a 409 of an ingress', page(409)],
  ['a 503 of an ingress', page(503)],
  ['a login page with status 200', page(200)],
  ['a stale attempt that is not a problem document', problem('attempt-stale', 'text/html')],
  ['a reset', reset],
  ['a truncated response', cut],
]

const left: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const undo of left.splice(0).toReversed()) await undo()
})

interface TestServer {
  readonly client: Client
  readonly events: EngineEvent[]
  readonly calls: string[]
  log(): string
}

/** Starts a server that responds to every path with each of `trouble` once, in order, and then accepts everything. */
async function serve(
  trouble: readonly Reply[],
  takes: (events: readonly { type: string }[]) => Reply | undefined = () => undefined,
): Promise<TestServer> {
  const events: EngineEvent[] = []
  const calls: string[] = []
  const parts: Buffer[] = []
  const seen = new Map<string, number>()
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? ''
      const n = seen.get(path) ?? 0
      seen.set(path, n + 1)
      calls.push(path)
      const body = path.endsWith('/logs') ? await buffer(request) : await json(request)
      const reply = trouble[n] ?? (path.endsWith('/events') ? takes(batchOf(body)) : undefined)
      if (reply !== undefined) return reply(response, request)
      if (Buffer.isBuffer(body)) parts.push(body)
      else if (path.endsWith('/events')) events.push(...EventBatch.parse(body).events)
      const answer = { leaseMs: 1000, ackSeq: events.at(-1)?.seq ?? 0, offset: Buffer.concat(parts).length }
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
  return { client, events, calls, log: () => Buffer.concat(parts).toString() }
}

function batchOf(body: unknown): { type: string }[] {
  return (body as { events: { type: string }[] }).events
}

/** A clock whose pauses take no time, so that a test only waits for calls. */
const eager: Clock = { ...systemClock, sleep: (_ms, signal) => systemClock.sleep(1, signal) }

async function report(client: Client): Promise<{ journal: Journal<EngineEvent>; drain: Drain }> {
  const end = new AbortController()
  const dir = mkdtempSync(join(tmpdir(), 'answers-'))
  left.push(() => rmSync(dir, { recursive: true, force: true }))
  const journal = await openJournal<EngineEvent>({ dir, clock: eager, limitBytes: 1e9, decode: readSpooled })
  left.push(() => journal.close())
  left.push(() => end.abort())
  return { journal, drain: startDrain({ journal, sink: serverSink(client), clock: eager, log: silentLog, signal: end.signal }) }
}

async function writeAttempt(journal: Journal<EngineEvent>): Promise<void> {
  journal.append({ type: 'step.started', step: 'a', try: 1 })
  await journal.stream('step/a').write(Buffer.from('all of it\n'))
  journal.append({ type: 'attempt.finished', outcome: { status: 'success' }, streams: {} })
}

/** Sends heartbeats until the server got `until` of them. Rejects if one ends the lease. */
async function beat(target: TestServer, until: number): Promise<void> {
  const end = new AbortController()
  const { client } = target
  const lease = keepLease({
    client,
    clock: eager,
    log: silentLog,
    signal: end.signal,
    everyMs: 1000,
    describe: () => ({}),
    hasEnd: () => false,
  })
  const enough = (async () => {
    while (target.calls.filter((path) => path.endsWith('/heartbeat')).length < until) await systemClock.sleep(2)
  })()
  await Promise.race([lease, enough]).finally(() => end.abort())
  await lease
}

test.each(TRANSIENT)('retries the report after %s without losing data', async (_name, reply) => {
  const target = await serve([reply, reply])
  const { journal, drain } = await report(target.client)
  await writeAttempt(journal)
  await drain.finish()
  expect(target.events.map(({ type }) => type)).toEqual(['step.started', 'attempt.finished'])
  expect(target.log()).toBe('all of it\n')
})

test.each(TRANSIENT)('continues the lease after %s', async (_name, reply) => {
  await beat(await serve([reply]), 3)
})

test('ends report and lease only for a stale attempt or an unknown token', async () => {
  for (const code of ['attempt-stale', 'unauthenticated'] as const) {
    const target = await serve(Array.from({ length: 50 }, () => problem(code)))
    await expect(beat(target, 50)).rejects.toMatchObject({ code })
    const { journal, drain } = await report(target.client)
    await writeAttempt(journal)
    await expect(drain.finish()).rejects.toMatchObject({ code })
  }
})

test('retries the claim after the same responses and stops for a used credential', async () => {
  const spoolDir = mkdtempSync(join(tmpdir(), 'answers-'))
  left.push(() => rmSync(spoolDir, { recursive: true, force: true }))
  const transient = TRANSIENT.filter(([name]) => name !== 'a stale attempt').map(([, reply]) => reply)
  const target = await serve([...transient, problem('claim-used')])
  const contact = openFirstContact({ url: target.client.url, clock: eager, log: silentLog })
  const { signal } = new AbortController()
  await expect(
    claim({ client: target.client, key: openClaimKey(spoolDir).key, clock: eager, signal, contact }),
  ).rejects.toMatchObject({
    code: 'claim-used',
  })
  expect(target.calls.length).toBeGreaterThan(TRANSIENT.length)
})

test('returns the message for a document that the server rejects and throws for a stale attempt', async () => {
  const { signal } = new AbortController()
  for (const [replies, answer] of [
    [[problem('internal'), page(404), problem('request-invalid')], { message: fault('request-invalid').message }],
    [[reset, problem('payload-too-large')], { message: fault('payload-too-large').message }],
  ] as const) {
    const { client } = await serve(replies)
    expect(await compileDocument({ client, clock: eager, signal }, 'version: 1')).toEqual(answer)
  }
  const { client } = await serve([problem('attempt-stale')])
  await expect(compileDocument({ client, clock: eager, signal }, '')).rejects.toMatchObject({ code: 'attempt-stale' })
})

test('sends a rejected event without its content and the other events unchanged', async () => {
  const isLarge = (events: readonly { type: string }[]): boolean => JSON.stringify(events).includes('too much')
  for (const refusal of [problem('payload-too-large'), problem('request-invalid'), page(413)]) {
    const target = await serve([], (events) => (isLarge(events) ? refusal : undefined))
    const { journal, drain } = await report(target.client)
    journal.append({ type: 'step.started', step: 'a', try: 1 })
    const members = { report: 'too much' }
    journal.append({
      type: 'step.finished',
      step: 'a',
      try: 1,
      status: 'error',
      exitCode: 3,
      members,
      exports: [],
      message: 'It failed.',
    })
    journal.append({ type: 'notice', level: 'info', message: 'too much' })
    journal.append({ type: 'attempt.finished', outcome: { status: 'error' }, streams: {} })
    await drain.finish()
    expect(target.events).toMatchObject([
      { type: 'step.started', seq: 1 },
      {
        type: 'step.finished',
        seq: 2,
        status: 'error',
        exitCode: 3,
        members: {},
        message: expect.stringMatching(/^It failed\. .*refused/),
      },
      { type: 'notice', seq: 3, message: expect.stringContaining('refused') },
      { type: 'attempt.finished', seq: 4 },
    ])
  }
})
