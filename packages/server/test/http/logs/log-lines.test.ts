/** The routes of logs by line: caching, refusals, and downloads. */
import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { visibleText } from '@windlass/ansi'
import { expect, test } from 'vitest'
import { retain } from '../../../src/retention.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

async function get(scene: HttpScene, path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(scene.server.url + path, { headers: { authorization: `Bearer ${scene.adminToken}`, ...headers } })
}

test('lines that no longer change are cached, and a known ETag gets no body', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  await engine.log('step/hello', 'one\ntwo\nthree')
  const path = (query: string): string => `/v1/builds/${build.id}/log/lines?stream=step/hello&${query}`
  const whole = await get(scene, path('attempt=1&from=0&count=2'))
  expect(await whole.json()).toMatchObject({ attempt: 1, lines: 2, total: 3, complete: true, text: 'one\ntwo\n' })
  expect(whole.headers.get('cache-control')).toBe('private, max-age=31536000, immutable')
  const etag = whole.headers.get('etag') ?? ''
  expect(etag).toMatch(/^W\/"/)
  await engine.log('step/hello', ' more\nfour\n')
  const again = await get(scene, path('attempt=1&from=0&count=2'), { 'if-none-match': etag })
  expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
  expect((await get(scene, path('attempt=1&from=1&count=2'), { 'if-none-match': etag })).status).toBe(200)
  // A later attempt, or later lines, would change these.
  for (const query of ['from=0&count=2', 'attempt=1&from=-2&count=2'])
    expect((await get(scene, path(query))).headers.get('cache-control')).toBe('private, no-cache')
  const last = await get(scene, path('attempt=1&from=2&count=9'))
  expect(last.headers.get('cache-control')).toBe('no-store')
  expect(await last.json()).toMatchObject({ from: 2, lines: 2, total: 4, complete: false, text: 'three more\nfour\n' })
})

test('refuses unknown streams, wrong ranges, patterns that cannot be used, and expired logs', async () => {
  await using scene = await openHttpScene({ retention: { logDays: 0 } })
  const { build, engine } = await scene.start()
  const status = async (path: string): Promise<[number, unknown]> => {
    const response = await get(scene, `/v1/builds/${build.id}/${path}`)
    const body = (await response.json()) as { message?: string }
    return [response.status, body.message]
  }
  const evil = `${'a'.repeat(40)}!\n`
  await engine.log('step/hello', evil.repeat(5_000))
  expect(await status('log/lines?stream=step/other')).toEqual([
    404,
    `Build ${build.id} has no output in the stream "step/other".`,
  ])
  expect((await status('log/lines?stream=step/hello&attempt=2'))[0]).toBe(404)
  for (const query of ['', 'stream=step/hello&count=5001', 'stream=step/hello&count=0', 'stream=step/hello&from=x'])
    expect([query, (await status(`log/lines?${query}`))[0]]).toEqual([query, 400])
  for (const query of ['', 'q=', 'q=a%0Ab', 'q=a&limit=10001', 'q=a&after=x', `q=${'a'.repeat(1_001)}`])
    expect([query, (await status(`log/search?${query}`))[0]]).toEqual([query, 400])
  for (const pattern of ['(', '(a)\\1', '(?<=a)b', 'a(?!b)'])
    expect(await status(`log/search?regex=true&q=${encodeURIComponent(pattern)}`)).toEqual([
      400,
      expect.stringContaining(`The pattern "${pattern}" cannot be used: `),
    ])
  expect((await status('log/search?regex=true&q=%5E(a%2B)%2B%24'))[0]).toBe(200)
  expect((await status('log?gzip=true'))[0]).toBe(400)
  await engine.succeed()
  const { app } = scene.server
  const ended = app.clock.now()
  while (app.clock.now() <= ended) await new Promise((resolve) => setTimeout(resolve, 1))
  await retain(app)
  for (const path of ['log/lines?stream=step/hello', 'log/search?q=a'])
    expect(await status(path)).toEqual([404, 'The log has expired.'])
  expect((await status('streams'))[0]).toBe(200)
})

test('downloads a log as it was written, as text, and compressed (P179)', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const raw = '\u001B[32mone\u001B[0m\r\n 10 %\r100 %\r\nunfinished \u001B[1mä'
  const text = 'one\n100 %\nunfinished ä'
  for (let at = 0; at < raw.length; at += 5) await engine.log('step/hello', raw.slice(at, at + 5))
  await engine.log('system', 'system\n')
  const download = async (query: string): Promise<{ bytes: Buffer; headers: Headers }> => {
    const response = await get(scene, `/v1/builds/${build.id}/log?${query}`)
    return { bytes: Buffer.from(await response.arrayBuffer()), headers: response.headers }
  }
  const asWritten = await download('download=raw&stream=step/hello')
  expect(createHash('sha256').update(asWritten.bytes).digest('hex')).toBe(createHash('sha256').update(raw).digest('hex'))
  expect(asWritten.headers.get('content-disposition')).toBe(`attachment; filename="build-${build.number}-hello.log"`)
  expect(asWritten.headers.get('content-length')).toBe(String(Buffer.byteLength(raw)))
  expect((await download('download=text&stream=step/hello')).bytes.toString()).toBe(text)
  const compressed = await download('download=text&gzip=true&stream=step/hello&attempt=1')
  expect(gunzipSync(compressed.bytes).toString()).toBe(text)
  expect(compressed.headers.get('content-type')).toBe('application/gzip')
  expect(compressed.headers.get('content-disposition')).toContain(`build-${build.number}-hello-attempt-1.log.gz`)
  const all = await download('download=raw&gzip=true')
  expect(gunzipSync(all.bytes).toString()).toBe(`${raw}system\n`)
  expect((await download('stream=step/hello')).headers.get('content-disposition')).toBeNull()
})

test('a long line that overwrites itself has its last state, and says how much is left out (W059)', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const updates = Array.from({ length: 5_000 }, (_, n) => `\r\u001B[K${n + 1} of 5000 parts`).join('')
  await engine.log('step/hello', `before\n${updates}`)
  const lines = () => scene.admin.builds.logLines(build.id, { query: { stream: 'step/hello', attempt: 1 } })
  const stateOf = (text: string): string => visibleText(text.split('\n')[1] ?? '')
  expect(stateOf((await lines()).text)).toBe('5000 of 5000 parts')
  await engine.log('step/hello', '\r\u001B[Kdone\nafter\n')
  const { text, cut, total } = await lines()
  expect([stateOf(text), total]).toEqual(['done', 3])
  expect(cut).toEqual([[1, updates.length + 8 - 16_384]])
})

test('the recording of a terminal is closed to those who may open none, by name and in the feed (W039)', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const stream = `terminal/${'a'.repeat(24)}`
  await engine.log('step/hello', 'hello\n')
  await engine.log(stream, 'recorded\n')
  const at = `/v1/builds/${build.id}`
  const read = (path: string, key: string): Promise<Response> =>
    fetch(scene.server.url + path, { headers: { authorization: `Bearer ${key}` } })
  const bytes = Buffer.from('recorded\n').toString('base64')
  const steps = engine.claimed.buildToken ?? ''
  expect((await read(`${at}/log`, steps)).status).toBe(200)
  expect((await read(`${at}/log?stream=${stream}`, steps)).status).toBe(403)
  expect(await (await read(`${at}/feed`, steps)).text()).not.toContain(bytes)
  await engine.succeed()
  const { token: viewer } = await scene.admin.keys.create({ name: 'viewer', role: 'viewer' })
  const { token: limited } = await scene.admin.keys.create({ name: 'limited', role: 'developer', scopes: ['build:read'] })
  const named = ['log?', 'log/lines?from=0&count=9&', 'log/search?q=recorded&', 'log/marks?'].map(
    (path) => `${at}/${path}stream=${stream}`,
  )
  for (const path of named) expect([path, (await read(path, scene.adminToken)).status]).toEqual([path, 200])
  for (const token of [viewer, limited]) {
    for (const path of named) expect([path, (await read(path, token)).status]).toEqual([path, 403])
    for (const path of [`${at}/feed`, `${at}/follow`]) {
      const closed = await (await read(path, token)).text()
      expect(closed).toContain(Buffer.from('hello\n').toString('base64'))
      expect(closed).not.toContain(bytes)
      expect(await (await read(path, scene.adminToken)).text()).toContain(bytes)
    }
    const events = await read(`/v1/stream?topic=log:${build.id}:1:${stream}:0`, token)
    let told = ''
    for await (const piece of events.body ?? []) {
      told += Buffer.from(piece).toString()
      if (told.includes('event: problem') || told.includes('event: log')) break
    }
    expect(told).toMatch(/"code":"(?:forbidden|scope-missing)"/)
  }
  expect((await read(`${at}/log/search?q=recorded&after=${encodeURIComponent(`1 0 ${stream}`)}`, viewer)).status).toBe(400)
})
