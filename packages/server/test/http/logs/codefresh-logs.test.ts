/** Logs for public clients: the socket while a build runs, and one document when it has ended. */
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { manualClock, systemClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket, type RawData } from 'ws'
import { z } from 'zod'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const Auth = z.object({ accessToken: z.string(), url: z.string(), newStructure: z.literal(true) })
const Progress = z.object({ location: z.object({ type: z.string(), url: z.string().optional() }) })
const Frame = z.object({
  t: z.string(),
  d: z.looseObject({
    r: z.int().optional(),
    a: z.string().optional(),
    b: z.looseObject({ p: z.string().optional(), d: z.unknown(), s: z.string().optional() }).optional(),
  }),
})
type Frame = z.output<typeof Frame>

interface Reader {
  readonly frames: Frame[]
  send(action: string, body: object): Promise<Frame>
  /** Resolves with the first data frame that matches. */
  data(path: string, isWanted?: (value: unknown) => boolean): Promise<unknown>
  close(): void
}

/** The default `binaryType` of `ws` is a Buffer. */
function toText(data: RawData): string {
  if (!Buffer.isBuffer(data)) throw new Error('expected a Buffer')
  return data.toString('utf8')
}

/** Opens the socket and waits for the greeting. */
async function open({ server }: HttpScene): Promise<Reader> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/.ws?v=5`)
  onTestFinished(() => socket.terminate())
  const frames: Frame[] = []
  socket.on('message', (data) => frames.push(Frame.parse(JSON.parse(toText(data)))))
  await once(socket, 'open')
  let last = 0
  const find = async <T>(pick: (frame: Frame) => T | undefined): Promise<T> => {
    for (const end = performance.now() + 20_000; performance.now() < end; await sleep(5))
      for (const frame of frames) {
        const found = pick(frame)
        if (found !== undefined) return found
      }
    throw new Error(`no such frame in ${JSON.stringify(frames)}`)
  }
  return {
    frames,
    async send(a, b) {
      const r = (last += 1)
      socket.send(JSON.stringify({ t: 'd', d: { r, a, b } }))
      return find((frame) => (frame.d.r === r ? frame : undefined))
    },
    data: (path, isWanted = () => true) =>
      find(({ d: { a, b } }) => (a !== undefined && b?.p === path && isWanted(b.d) ? { value: b.d } : undefined)).then(
        ({ value }) => value,
      ),
    close: () => socket.terminate(),
  }
}

const authOf = (scene: HttpScene, id: string): Promise<z.output<typeof Auth>> =>
  scene.admin.call('GET', '/api/user/firebaseAuth', Auth, { query: { progressId: id } })
const progressOf = (scene: HttpScene, id: string): Promise<z.output<typeof Progress>> =>
  scene.admin.call('GET', `/api/progress/${id}`, Progress)

/** Opens the socket with the right to read the log of a build. */
async function openFor(scene: HttpScene, id: string): Promise<Reader> {
  const { accessToken: cred } = await authOf(scene, id)
  const reader = await open(scene)
  expect((await reader.send('auth', { cred })).d.b?.s).toBe('ok')
  return reader
}

const begin = { type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true } as const
const TIME = '[1970-01-01T00:00:00.001Z] '

test('sends the log so far as one value, then each new line, and the final status after the last line', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  expect((await progressOf(scene, build.id)).location).toEqual({ type: 'firebase' })
  await engine.event(begin)
  await engine.log('step/hello', 'one\ntwo\nthr')
  const reader = await openFor(scene, build.id)
  const node = `api/logs/${build.id}`
  await reader.send('q', { p: `/${node}/status`, h: '' })
  await reader.send('q', { p: `/${node}/steps`, h: '' })
  expect(await reader.data(`${node}/status`)).toBe('running')
  expect(await reader.data(`${node}/steps`)).toEqual({
    s000000: { name: 'hello', creationTimeStamp: 1, logs: { l000000001: `${TIME}one\r\n`, l000000002: `${TIME}two\r\n` } },
  })
  await engine.log('step/hello', 'ee\n')
  expect(await reader.data(`${node}/steps/s000000/logs`)).toEqual({ l000000003: `${TIME}three\r\n` })
  await engine.log('step/hello', 'no end')
  await engine.finish({ status: 'success' })
  await reader.data(`${node}/status`, (value) => value === 'success')
  const paths = reader.frames.flatMap(({ d: { a, b } }) => (a === undefined ? [] : [b?.p]))
  expect(paths.slice(-2)).toEqual([`${node}/steps/s000000/logs`, `${node}/status`])
  expect(JSON.stringify(reader.frames.at(-2))).toContain('no end')
})

test('a client that connects again gets the same lines with the same keys, also after the build has ended', async () => {
  // The final status waits for this client as long as it needs to ask for the steps.
  await using scene = await openHttpScene({ clock: manualClock(systemClock.now()) })
  const { build, engine } = await scene.start()
  await engine.event(begin)
  await engine.log('system', 'up\n')
  await engine.log('step/hello', 'one\n')
  const node = `api/logs/${build.id}`
  const first = await openFor(scene, build.id)
  await first.send('q', { p: `/${node}/steps`, h: '' })
  const before = await first.data(`${node}/steps`)
  first.close()
  await engine.log('step/hello', 'two\n')
  await engine.finish({ status: 'error', reason: 'exit-code', message: 'The step failed.' })
  const second = await openFor(scene, build.id)
  await second.send('q', { p: `/${node}/status`, h: '' })
  await second.send('q', { p: `/${node}/steps`, h: 'hash' })
  const after = await second.data(`${node}/steps`)
  expect(after).toMatchObject(z.record(z.string(), z.unknown()).parse(before))
  expect(JSON.stringify(after)).toContain('two')
  expect(JSON.stringify(after)).toContain('error: The step failed.')
  await second.data(`${node}/status`, (value) => value === 'error')
  // A client leaves at the final status, so it must not come before the lines.
  const order = second.frames.flatMap(({ d: { a, b } }) => (a === undefined ? [] : [[b?.p, b?.d === 'error']]))
  expect(order).toEqual([
    [`${node}/status`, false],
    [`${node}/steps`, false],
    [`${node}/status`, true],
  ])
})

test('shows the whole node to a client that does not follow', async () => {
  await using scene = await openHttpScene()
  const { build } = await scene.start()
  const reader = await openFor(scene, build.id)
  await reader.send('q', { p: `/api/logs/${build.id}`, h: '' })
  expect(await reader.data(`api/logs/${build.id}`)).toEqual({ status: 'running', steps: {} })
})

test('refuses other builds, unknown tokens, and clients that prove nothing', async () => {
  await using scene = await openHttpScene()
  const [one, two] = [await scene.start(), await scene.start()]
  const stranger = await open(scene)
  expect((await stranger.send('q', { p: `/api/logs/${one.build.id}/steps` })).d.b?.s).toBe('permission_denied')
  const { accessToken } = await authOf(scene, one.build.id)
  const forged = accessToken.replace(one.build.id, two.build.id)
  for (const cred of [forged, `${accessToken}x`, '', 'a~b~c~d~e~f'])
    expect((await stranger.send('auth', { cred })).d.b?.s).toBe('invalid_token')
  const reader = await openFor(scene, one.build.id)
  for (const path of [`/api/logs/${two.build.id}/steps`, '/', '/api/logs', `/api/logs/${one.build.id}/other`])
    expect((await reader.send('q', { p: path })).d.b?.s).toBe('permission_denied')
})

test('clients of one address that prove nothing hold ten connections', async () => {
  // None of them is closed for its age while the others connect.
  await using scene = await openHttpScene({ clock: manualClock(systemClock.now()) })
  for (let n = 0; n < 10; n += 1) await open(scene)
  await expect(open(scene)).rejects.toThrow('503')
})

test('a right ends with the key that asked for it', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const { token } = await scene.admin.keys.create({ name: 'reader', role: 'viewer' })
  const viewer = scene.nobody.withToken(token)
  const { accessToken, url } = await viewer.call('GET', '/api/user/firebaseAuth', Auth, { query: { progressId: build.id } })
  expect(url).toBe(`${scene.server.url.replace('127.0.0.1', '127.0.1')}/api/logs`)
  const status = (auth: string): Promise<Response> =>
    fetch(`${scene.server.url}/api/logs/${build.id}/status.json?auth=${encodeURIComponent(auth)}`)
  expect(await (await status(accessToken)).json()).toBe('running')
  await engine.event(begin)
  await engine.log('step/hello', 'kept\n')
  await engine.finish({ status: 'success' })
  const { location } = await viewer.call('GET', `/api/progress/${build.id}`, Progress)
  expect((await fetch(location.url ?? '')).status).toBe(200)
  await scene.admin.keys.delete('reader')
  expect((await status(accessToken)).status).toBe(404)
  expect((await fetch(location.url ?? '')).status).toBe(404)
  const reader = await open(scene)
  expect((await reader.send('auth', { cred: accessToken })).d.b?.s).toBe('invalid_token')
})

const Archive = z.object({
  steps: z.array(z.object({ name: z.string(), creationTimeStamp: z.number(), logs: z.array(z.string()) })),
})

test('the archive of an ended build has every line of every step, and belongs to one build', async () => {
  await using scene = await openHttpScene()
  const [one, two] = [await scene.start(), await scene.start()]
  await one.engine.event(begin)
  await one.engine.log('system', 'up\n')
  for (let n = 0; n < 500; n += 1) await one.engine.log('step/hello', `line ${n}\npart `)
  await one.engine.log('step/hello.services', 'served\n')
  await one.engine.finish({ status: 'error', reason: 'exit-code', message: 'The step failed.' })
  const { location } = await progressOf(scene, one.build.id)
  expect(location.type).toBe('archive')
  const url = location.url ?? ''
  const { steps } = Archive.parse(await (await fetch(url)).json())
  expect(steps.map(({ name, logs }) => [name, logs.length])).toEqual([
    ['Initializing Process', 1],
    ['hello', 502],
    ['Build', 1],
  ])
  expect(steps[1]?.logs.slice(0, 2)).toEqual([`${TIME}line 0\r\n`, `${TIME}part line 1\r\n`])
  expect(steps[1]?.logs.slice(-2)).toEqual([`${TIME}part \r\n`, `${TIME}served\r\n`])
  expect((await fetch(url.replace(`/${one.build.id}/`, `/${two.build.id}/`))).status).toBe(404)
})

/** Sends a GET with another Host header, as a client that reaches the server by another name. */
async function getAs(scene: HttpScene, path: string, host: string): Promise<unknown> {
  const url = new URL(path, scene.server.url)
  const call = request(url, { headers: { host, authorization: scene.adminToken } }).end()
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  return JSON.parse(Buffer.concat(await Array.fromAsync(response)).toString())
}

test('a client that cannot use the host of the socket gets a document that is held until the build ends', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const { location } = Progress.parse(await getAs(scene, `/api/progress/${build.id}`, 'windlass:8080'))
  expect(location).toMatchObject({ type: 'archive', url: expect.stringMatching(/^http:\/\/windlass:8080\/api\/logs\//) })
  const url = (location.url ?? '').replace('http://windlass:8080', scene.server.url)
  let isOver = false
  const held = fetch(url).then(async (answer) => {
    const text = await answer.text()
    isOver = true
    return Archive.parse(JSON.parse(text))
  })
  await engine.event(begin)
  await engine.log('step/hello', 'late\n')
  await sleep(200)
  expect(isOver).toBe(false)
  await engine.finish({ status: 'success' })
  expect((await held).steps).toMatchObject([{ name: 'hello', logs: [`${TIME}late\r\n`] }])
  expect(await getAs(scene, `/api/user/firebaseAuth?progressId=${build.id}`, 'windlass:8080')).toMatchObject({
    code: 'not-supported',
  })
})

test('requests that offer another protocol are answered as usual, and other upgrades are not accepted', async () => {
  await using scene = await openHttpScene()
  const answer = async (path: string, upgrade: string): Promise<number | undefined> => {
    const call = request(new URL(path, scene.server.url), { headers: { connection: 'Upgrade', upgrade } }).end()
    const [response] = (await once(call, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode
  }
  expect(await answer('/healthz', 'h2c')).toBe(200)
  expect(await answer('/v1/status', 'websocket')).toBe(200)
})

test('a server that closes ends its log sockets', async () => {
  const scene = await openHttpScene()
  const { build } = await scene.start()
  const socket = new WebSocket(`${scene.server.url.replace('http', 'ws')}/.ws?v=5`)
  await once(socket, 'open')
  expect(build.status).toBe('pending')
  const closed = once(socket, 'close')
  await scene[Symbol.asyncDispose]()
  await closed
})

test('calls that change something by GET are refused to browsers', async () => {
  await using scene = await openHttpScene()
  const { id } = await scene.submit()
  const signIn = await fetch(`${scene.server.url}/v1/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key: scene.adminToken }),
  })
  const cookie = signIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const path = `${scene.server.url}/api/builds/rebuild/${id}`
  const refusals = await Promise.all([
    fetch(path, { headers: { cookie } }),
    fetch(path, { headers: { authorization: scene.adminToken, 'sec-purpose': 'prefetch' } }),
  ])
  for (const refusal of refusals) expect(await refusal.json()).toMatchObject({ code: 'request-invalid' })
  expect((await scene.admin.builds.list()).items).toHaveLength(1)
  const again = await fetch(path, { headers: { authorization: scene.adminToken } })
  expect([again.status, again.headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect((await scene.admin.builds.list()).items).toHaveLength(2)
})

test('a start with the request id of an earlier one returns its build, also for the steps of a build', async () => {
  await using scene = await openHttpScene()
  await scene.admin.pipelines.create({ name: 'team/app', document: HELLO })
  const { engine } = await scene.start({ pipeline: 'team/app', document: undefined })
  for (const authorization of [scene.adminToken, engine.claimed.buildToken ?? '']) {
    const send = async (reqId: string): Promise<unknown> => {
      const url = `${scene.server.url}/api/pipelines/run/team%2Fapp?reqId=${reqId}`
      const answer = await fetch(url, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: '{}',
      })
      return answer.json()
    }
    const [first, again, other] = [await send('one'), await send('one'), await send('two')]
    expect(first).toMatch(/^[0-9a-f]{24}$/)
    expect(again).toBe(first)
    expect(other).not.toBe(first)
  }
})

test('a call of the Codefresh API that Windlass does not have is told apart from a wrong path', async () => {
  await using scene = await openHttpScene()
  await expect(scene.admin.text('POST', '/api/helm/boards', { body: {} })).rejects.toMatchObject({
    code: 'not-supported',
    message: 'Windlass does not support POST /api/helm/boards.',
  })
  await expect(scene.admin.text('GET', '/v1/none')).rejects.toMatchObject({ code: 'not-found' })
})
