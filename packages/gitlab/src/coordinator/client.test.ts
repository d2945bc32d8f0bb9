import { expect, test } from 'vitest'
import { recordPauses, skippingClock } from '../../../../e2e/support/clocks.ts'
import { apiAddress } from './address.ts'
import type { CallRecord } from './calls.ts'
import { errorMessage } from './error-body.ts'
import { openPair, TOKEN } from '../../../../e2e/gitlab/support/coordinator-pair.ts'
import { shortToken } from './tokens.ts'

test('derives the base of the API from the URL', () => {
  expect(apiAddress('https://gitlab.example.com')).toEqual({ base: 'https://gitlab.example.com/api/v4/', isLegacy: false })
  expect(apiAddress('https://gitlab.example.com//').base).toBe('https://gitlab.example.com/api/v4/')
  expect(apiAddress('https://example.com/gitlab/').base).toBe('https://example.com/gitlab/api/v4/')
  expect(apiAddress('https://gitlab.example.com/ci')).toEqual({ base: 'https://gitlab.example.com/api/v4/', isLegacy: true })
  for (const url of ['gitlab.example.com', 'ftp://example.com', 'https://user:secret@example.com', ''])
    expect(() => apiAddress(url)).toThrow('The URL of the GitLab server')
})

test('reads messages of GitLab and of object storage', () => {
  expect(errorMessage(403, 'Forbidden', '{"message":"invalid token supplied"}')).toBe('invalid token supplied')
  expect(errorMessage(400, 'Bad Request', '{"message":{"tag_list":["is empty","is odd"],"base":["no"]}}')).toBe(
    'tag_list: is empty, is odd; base: no',
  )
  expect(errorMessage(403, 'Forbidden', '{"message":"403 Forbidden"}')).toBeUndefined()
  expect(errorMessage(403, 'Forbidden', '{"message":"403 Forbidden - Job is not running"}')).toBe('Job is not running')
  expect(
    errorMessage(403, 'Forbidden', '<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Expired</Message></Error>'),
  ).toBe('AccessDenied: Expired')
  expect(errorMessage(502, 'Bad Gateway', '<html>nginx</html>')).toBeUndefined()
})

test('shows the first nine characters of a token after its prefix', () => {
  expect(shortToken('glrt-t1_abcdefghijklmnop')).toBe('abcdefghi')
  expect(shortToken('glrt-abcdefghijklmnop')).toBe('abcdefghi')
  expect(shortToken('GR1348941abcdefghijklmnop')).toBe('abcdefghi')
  expect(shortToken('abcdefghijklmnop')).toBe('abcdefghi')
})

test('every request has its own X-Request-Id, and the log shows the ID of the server (G007)', async () => {
  const { fake, client, log } = await openPair()
  fake.next('request', { status: 403, headers: { 'x-request-id': 'from-workhorse' }, body: { message: 'no' } })
  await client.requestJob({ systemId: 's_1' })
  fake.next('request', { status: 404 })
  const unnamed = await client.requestJob({ systemId: 's_1' })
  const sent = fake.of('request').map(({ headers }) => headers['x-request-id'])
  expect(sent[0]).toMatch(/^[0-9a-f]{32}$/)
  expect(sent[1]).not.toBe(sent[0])
  expect(unnamed).toMatchObject({ outcome: 'failed', correlationId: sent[1] })
  expect(log.lines.map(({ fields }) => fields['correlation_id'])).toEqual(['from-workhorse', sent[1]])
  expect(log.lines[0]?.fields).toMatchObject({ status: 403, reason: '403 Forbidden (no)', runner: 'abcdefghi' })
  expect(JSON.stringify(log.lines)).not.toContain(TOKEN)
})

test('requests of the runner and of the job carry their own token (G008)', async () => {
  const { fake, client } = await openPair()
  fake.enqueue({ id: 5, token: 'glcbt-five' })
  await client.requestJob({ systemId: 's_1' })
  const job = { jobId: 5, jobToken: 'glcbt-five' }
  await client.patchTrace({ ...job, offset: 0, bytes: Buffer.from('hello') })
  await client.updateJob({ ...job, state: 'running' })
  await client.resetTokenById(7, 'glpat-secret')
  const headers = fake.requests.map(({ headers }) => [headers['runner-token'], headers['job-token'], headers['private-token']])
  expect(headers).toEqual([
    [TOKEN, undefined, undefined],
    [undefined, 'glcbt-five', undefined],
    [undefined, 'glcbt-five', undefined],
    [undefined, undefined, 'glpat-secret'],
  ])
  expect(fake.requests.map(({ headers }) => headers['user-agent'])).toEqual(Array(4).fill('windlass 1.2.3 (test)'))
  expect(fake.of('request')[0]?.headers).toMatchObject({ 'content-type': 'application/json', accept: 'application/json' })
  expect(fake.of('trace')[0]?.query.get('debug_trace')).toBe('false')
})

test('sends back the X-GitLab-Last-Update of the answer (G009)', async () => {
  const { fake, client } = await openPair()
  const first = await client.requestJob({ systemId: 's_1' })
  expect(first).toMatchObject({ outcome: 'none', lastUpdate: 'first', pushedBack: false })
  await client.requestJob({ systemId: 's_1', lastUpdate: first.lastUpdate })
  expect(fake.of('request').map(({ json }) => json)).toMatchObject([
    { token: TOKEN, system_id: 's_1', last_update: '', info: { features: { refspecs: true } } },
    { token: TOKEN, system_id: 's_1', last_update: 'first' },
  ])
})

test('retries after the time that the server names, and otherwise with a growing delay, five times in total (G012)', async () => {
  const clock = recordPauses(skippingClock(Date.parse('2026-01-01T00:00:00Z')))
  const { fake, client } = await openPair({ clock })
  const busy = (headers: Record<string, string>): { status: number; headers: Record<string, string> } => ({
    status: 429,
    headers,
  })
  fake.next(
    'request',
    // The clock of the server is another one.
    busy({ date: 'Thu, 01 Jan 2026 00:00:00 GMT', 'ratelimit-resettime': 'Thu, 01 Jan 2026 00:00:07 GMT', 'retry-after': '3' }),
    busy({ 'retry-after': '2' }),
    busy({}),
    busy({ 'retry-after': 'soon' }),
    busy({ 'retry-after': '1' }),
  )
  expect(await client.requestJob({ systemId: 's_1' })).toMatchObject({ outcome: 'failed', pushedBack: true })
  expect(fake.of('request')).toHaveLength(5)
  expect(clock.pauses.slice(0, 2)).toEqual([7_000, 2_000])
  expect(clock.pauses[2]).toBeGreaterThanOrEqual(200)
  expect(clock.pauses[2]).toBeLessThanOrEqual(400)
  expect(clock.pauses[3]).toBeGreaterThanOrEqual(400)
  expect(clock.pauses).toHaveLength(4)
})

test('does not retry 501, and retries 520 (G013)', async () => {
  const { fake, client } = await openPair({ clock: skippingClock() })
  fake.next('request', { status: 501 })
  expect(await client.requestJob({ systemId: 's_1' })).toMatchObject({ outcome: 'failed', pushedBack: false })
  expect(fake.of('request')).toHaveLength(1)
  fake.next('request', { status: 520 }, { status: 500 })
  expect(await client.requestJob({ systemId: 's_1' })).toMatchObject({ outcome: 'none', pushedBack: true })
  expect(fake.of('request')).toHaveLength(4)
})

test('an answer with another status, a body of another type and a server that is down are failures', async () => {
  const { fake, client } = await openPair({ clock: skippingClock() })
  const outcome = async (): Promise<string> => (await client.requestJob({ systemId: 's_1' })).outcome
  fake.next('request', { status: 200, body: { id: 1, token: 't' } })
  expect(await outcome()).toBe('failed')
  fake.next('request', { status: 201, headers: { 'content-type': 'text/html' }, body: '{"id":1,"token":"t"}' })
  expect(await outcome()).toBe('failed')
  fake.next('request', ...Array<{ status: number }>(5).fill({ status: 503 }))
  expect(await outcome()).toBe('maintenance')
  fake.revoke(TOKEN)
  expect(await outcome()).toBe('forbidden')
  await fake.down()
  expect(await client.requestJob({ systemId: 's_1' })).toEqual({ outcome: 'failed', pushedBack: false })
  await expect(client.unregister()).rejects.toMatchObject({ code: 'forge-unreachable' })
})

test('tells every try of a call, for metrics', async () => {
  const records: CallRecord[] = []
  const { fake, client } = await openPair({ clock: skippingClock(), client: { onCall: (record) => void records.push(record) } })
  fake.next('trace', { status: 502 }, { status: 202 })
  await client.patchTrace({ jobId: 5, jobToken: 'glcbt-five', offset: 0, bytes: Buffer.from('a') })
  await fake.down()
  await client.requestJob({ systemId: 's_1' })
  expect(records.map(({ method, endpoint, status, isRetry }) => [method, endpoint, status, isRetry])).toEqual([
    ['PATCH', 'jobs/:id/trace', 502, false],
    ['PATCH', 'jobs/:id/trace', 202, true],
    ['POST', 'jobs/request', 0, false],
  ])
})

test('fails a job that it does not understand', async () => {
  const { fake, client, log } = await openPair()
  const job = fake.enqueue({ id: 5, token: 'glcbt-five', steps: 'none' })
  expect((await client.requestJob({ systemId: 's_1' })).outcome).toBe('failed')
  await expect.poll(() => job.final).toMatchObject({ state: 'failed', failureReason: 'runner_system_failure' })
  expect(log.lines.find(({ level }) => level === 'error')?.message).toBe(
    'GitLab sent a job that cannot be parsed; update Windlass',
  )
})

test('an abort ends a held request with its reason, and closes the connection', async () => {
  const { fake, client } = await openPair({ holdMs: 600_000 })
  const stop = new AbortController()
  const held = client.requestJob({ systemId: 's_1', signal: stop.signal })
  await expect.poll(() => fake.held).toBe(1)
  stop.abort(new Error('the manager stops'))
  await expect(held).rejects.toThrow('the manager stops')
  await expect.poll(() => fake.held).toBe(0)
})

test('connections are not used again when they are old or the certificates changed', async () => {
  let now = 0
  const clock = { ...skippingClock(), monotonic: () => now }
  let tls = {}
  const { fake, client } = await openPair({ clock, client: { connectionMaxAgeMs: 1000, tls: () => tls } })
  const port = async (): Promise<unknown> => {
    await client.verify('s_1')
    return fake.requests.at(-1)?.port
  }
  const first = await port()
  expect(await port()).toBe(first)
  now = 1000
  const second = await port()
  expect(second).not.toBe(first)
  tls = {}
  expect(await port()).not.toBe(second)
})
