/** Expensive bodies, and callers that disconnect before their body is read. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createHmac } from 'node:crypto'
import { sha256 } from '@windlass/kit'
import { ApiKeyCreated } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { openHttp } from '../../../src/http/http-server.ts'
import { ok, route } from '../../../src/http/route.ts'
import { openAuthenticator } from '../../../src/identity/authenticate.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const Verdict = z.object({ valid: z.boolean() })
const Refused = z.object({ code: z.string().optional(), detail: z.string().optional() })

async function viewerOf(scene: HttpScene): Promise<string> {
  const { token } = await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name: 'viewer', role: 'viewer' } })
  return token
}

async function post(
  scene: HttpScene,
  path: string,
  body: string,
  token = '',
): Promise<z.output<typeof Refused> & { status: number }> {
  const headers = { 'content-type': 'application/json', ...(token !== '' && { authorization: `Bearer ${token}` }) }
  const answer = await fetch(scene.server.url + path, { method: 'POST', headers, body })
  return { ...Refused.parse(await answer.json()), status: answer.status }
}

const TOO_MANY = {
  code: 'request-invalid',
  status: 400,
  detail: 'The body has more than 20,000 fields and list items.',
}

test('rejects a body with too many list items before parsing it, in any notation of the path', async () => {
  await using scene = await openHttpScene()
  const token = await viewerOf(scene)
  const fields = Array.from({ length: 30_000 }, (_, n) => `"k${n}":1`).join(',')
  const bodies = [
    `{"document":"__proto__","x":[${'1,'.repeat(30_000)}1]}`,
    `{"document":"a","x":[${'[],'.repeat(15_000)}1]}`,
    `{"document":"a","x":[${'{},'.repeat(15_000)}1]}`,
    `{"document":"a",${fields}}`,
  ]
  for (const body of bodies)
    for (const path of ['/v1/validate', '/%761/validate']) expect(await post(scene, path, body, token)).toMatchObject(TOO_MANY)
})

test('does not count characters inside strings as fields', async () => {
  await using scene = await openHttpScene()
  const body = { document: HELLO, hint: '{"a\\": [1, "' + '[{,:'.repeat(30_000) }
  expect(await scene.admin.call('POST', '/v1/validate', Verdict, { body })).toMatchObject({ valid: true })
})

test('limits the fields in reports of engines', async () => {
  await using scene = await openHttpScene()
  const { engine } = await scene.start()
  const body = { events: Array.from({ length: 600_000 }, () => 1) }
  await expect(engine.client.call('POST', '/v1/engine/events', z.unknown(), { body })).rejects.toMatchObject({
    message: 'The body has more than 500,000 fields and list items.',
  })
})

test('limits bodies without a credential to 4 KiB', async () => {
  await using scene = await openHttpScene()
  const code = 'x'.repeat(4_096)
  expect((await post(scene, '/v1/bootstrap', JSON.stringify({ code }))).status).toBe(413)
})

test('removes a field named __proto__ and does not change object prototypes', async () => {
  await using scene = await openHttpScene()
  const token = await viewerOf(scene)
  for (const name of ['__proto__', '\\u005f_proto__']) {
    const body = `{"${name}":{"document":${JSON.stringify(HELLO)}}}`
    expect(await post(scene, '/v1/validate', body, token)).toMatchObject({ code: 'request-invalid', status: 400 })
  }
})

async function open(port: number, host: string): Promise<Socket> {
  const socket = connect(port, host)
  await once(socket, 'connect')
  return socket
}

/** Resolves when the server has read everything that was sent before. */
async function settled(scene: HttpScene): Promise<void> {
  for (let n = 0; n < 5; n += 1) await scene.nobody.text('GET', '/healthz')
}

test('callers that disconnect before their credential is looked up do not use up the limit of calls', async () => {
  await using scene = await openHttpScene()
  const token = await viewerOf(scene)
  const { hostname, port } = new URL(scene.server.url)
  const head = `POST /v1/validate HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n`
  const sockets = await Promise.all(Array.from({ length: 12 }, () => open(Number(port), hostname)))
  const gate = Promise.withResolvers<void>()
  // On SQLite a write holds the only connection, so credentials are looked up after it ends.
  const held = scene.server.app.store.write(() => gate.promise)
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.write(head, resolve))))
  await settled(scene)
  for (const socket of sockets) socket.resetAndDestroy()
  await settled(scene)
  gate.resolve()
  await held
  const client = scene.nobody.withToken(token)
  await expect
    .poll(() =>
      client.call('POST', '/v1/validate', Verdict, { body: { document: HELLO } }).then(
        ({ valid }) => valid,
        ({ code }: { code: string }) => code,
      ),
    )
    .toBe(true)
})

/** Every byte value, and a sequence that is not UTF-8. */
const BYTES = Buffer.from([...Array(256).keys(), 0xc3, 0x28, 0xff])

test('stores the bytes of a log frame as they were sent', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const headers = {
    'x-windlass-stream': 'step/hello',
    'x-windlass-offset': '0',
    'x-windlass-sha256': sha256(BYTES),
    'x-windlass-at': '1',
  }
  await engine.client.text('POST', '/v1/engine/logs', { body: BYTES, headers })
  const query = { stream: 'step/hello' }
  const stored = await scene.admin.bytes(`/v1/builds/${build.id}/log`, { query })
  expect(Buffer.concat(await Array.fromAsync(stored))).toEqual(BYTES)
})

test('a raw route accepts only its media types, and no other route accepts them', async () => {
  await using scene = await openHttpScene()
  const { engine } = await scene.start()
  const sendAs = (type: string): Promise<string> =>
    engine.client.text('POST', '/v1/engine/logs', { body: Buffer.from('{}'), headers: { 'content-type': type } })
  await expect(sendAs('application/json')).rejects.toMatchObject({
    code: 'request-invalid',
    message: 'The body must have the type application/octet-stream.',
  })
  await expect(sendAs('text/plain')).rejects.toMatchObject({ code: 'request-invalid' })
  await expect(scene.admin.text('POST', '/v1/validate', { body: BYTES })).rejects.toMatchObject({
    code: 'request-invalid',
    message: 'The body must have the type application/json.',
  })
})

test('a route can verify the signature of a JSON body over its bytes, within the limit of the route', async () => {
  await using scene = await openHttpScene()
  const { app } = scene.server
  const signed = route('POST', '/signed', {
    summary: 'Return the signature of the body',
    allow: 'public',
    scope: 'none',
    rawBody: ['application/json', 'application/x-www-form-urlencoded'],
    maxBodyBytes: 1000,
    replies: { 200: z.object({ signature: z.string() }) },
    handle: async ({ rawBody }) => ok({ signature: createHmac('sha256', 'secret').update(rawBody).digest('hex') }),
  })
  const http = openHttp(app, { routes: [signed], authenticator: openAuthenticator(app.store.query, app.vault) })
  const send = async (payload: string, type = 'application/json'): Promise<[number, unknown]> => {
    const answer = await http.inject({ method: 'POST', url: '/signed', headers: { 'content-type': type }, payload })
    return [answer.statusCode, answer.json()]
  }
  // Parsing and writing it again would change spaces, the order of duplicate fields and escapes.
  const text = '{ "b" : 1e3, "a":"\\u0041", "a":2 }\n'
  const signature = createHmac('sha256', 'secret').update(text).digest('hex')
  expect(await send(text)).toEqual([200, { signature }])
  expect(await send(text, 'application/json; charset=utf-8')).toEqual([200, { signature }])
  expect(await send('a=1&a=2', 'application/x-www-form-urlencoded')).toMatchObject([200, {}])
  expect(await send('not JSON')).toMatchObject([200, {}])
  for (const type of ['application/json', 'application/x-www-form-urlencoded'])
    expect(await send('x'.repeat(1001), type)).toMatchObject([413, { code: 'payload-too-large' }])
  expect(await send(text, 'text/plain')).toMatchObject([400, { code: 'request-invalid' }])
  await http.close()
})

test('refuses a raw body over the limit without a length after at most the limit', async () => {
  await using scene = await openHttpScene()
  const { engine, build } = await scene.start()
  const { hostname, port } = new URL(scene.server.url)
  const socket = await open(Number(port), hostname)
  const head = `POST /v1/engine/logs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${engine.claimed.token}\r\ncontent-type: application/octet-stream\r\ntransfer-encoding: chunked\r\n\r\n`
  socket.write(head)
  const chunk = Buffer.alloc(1_048_576)
  const sent = Buffer.concat([Buffer.from('100000\r\n'), chunk, Buffer.from('\r\n')])
  const [answer] = await Promise.all([
    once(socket, 'data') as Promise<[Buffer]>,
    (async () => {
      for (let n = 0; n < 8 && socket.writable; n += 1) socket.write(sent)
    })(),
  ])
  expect(answer[0].toString()).toContain('413')
  socket.destroy()
  expect(await scene.admin.text('GET', `/v1/builds/${build.id}/log`, {})).toBe('')
})

test('refuses a body of 201 levels, also with an Idempotency-Key, and accepts one of 200', async () => {
  await using scene = await openHttpScene()
  const send = async (path: string, levels: number): Promise<number> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${scene.adminToken}`, 'idempotency-key': 'deep' }
    const body = `{"text":"[[[{{{","x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    return (await fetch(scene.server.url + path, { method: 'POST', headers, body })).status
  }
  expect(await send('/v1/sessions/codes', 201)).toBe(400)
  expect(await send('/v1/contexts', 19_000)).toBe(400)
  expect(await send('/v1/sessions/codes', 200)).toBe(201)
})
