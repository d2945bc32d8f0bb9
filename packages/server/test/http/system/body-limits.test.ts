/** Limits of the bodies that are in memory before a handler runs. */
import { request as httpRequest, type ClientRequest } from 'node:http'
import { manualClock, sha256, systemClock } from '@windlass/kit'
import { ApiKeyCreated } from '@windlass/protocol'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { openHttp } from '../../../src/http/http-server.ts'
import { ok, route } from '../../../src/http/route.ts'
import { openAuthenticator } from '../../../src/identity/authenticate.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const MIB = 1_048_576

interface Pending {
  readonly request: ClientRequest
  /** Status of the answer, or `open` without one. */
  status: number | 'open'
}

/** Sends the body except for its last byte. */
function sendPart(
  url: string,
  token: string,
  { method = 'POST', path, bytes }: { method?: string; path: string; bytes: number },
): Pending {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': bytes }
  const request = httpRequest(url + path, { method, headers, agent: false })
  const pending: Pending = { request, status: 'open' }
  request.on('error', () => undefined)
  request.on('response', (response) => {
    pending.status = response.statusCode ?? 0
    response.resume()
  })
  request.write(Buffer.alloc(bytes - 1, 32))
  return pending
}

const statusesOf = (calls: readonly Pending[]): (number | 'open')[] => calls.map(({ status }) => status)

async function keyOf(scene: HttpScene, role: 'viewer' | 'user'): Promise<string> {
  return (await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name: role, role } })).token
}

test('a route without a body accepts 4 KiB, also from a step', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const calls = [
    sendPart(scene.server.url, engine.claimed.buildToken ?? '', { path: `/v1/builds/${build.id}/terminate`, bytes: 4 * MIB }),
    sendPart(scene.server.url, await keyOf(scene, 'viewer'), { path: '/v1/sessions/codes', bytes: 4 * MIB }),
    sendPart(scene.server.url, scene.adminToken, { method: 'DELETE', path: '/v1/contexts/none', bytes: 4097 }),
  ]
  await expect.poll(() => statusesOf(calls)).toEqual([413, 413, 413])
  for (const { request } of calls) request.destroy()
})

test('strangers of one address hold at most 8 MiB of bodies, and others are not affected', async () => {
  await using scene = await openHttpScene()
  const part = { path: '/v1/webhooks/none/deliveries', bytes: MIB }
  const calls = Array.from({ length: 12 }, () => sendPart(scene.server.url, 'x.y', part))
  await expect.poll(() => statusesOf(calls).filter((status) => status === 429)).toHaveLength(4)
  expect(statusesOf(calls).filter((status) => status === 'open')).toHaveLength(8)
  expect(await scene.nobody.text('GET', '/healthz')).toContain('ok')
  for (const { request } of calls) request.destroy()
})

test('a caller can send 16 MiB of bodies at once, and other callers are not affected', async () => {
  await using scene = await openHttpScene()
  const token = await keyOf(scene, 'user')
  const part = { method: 'PUT', path: '/v1/annotations/pipeline/none', bytes: 4 * MIB }
  const calls: Pending[] = []
  for (let n = 0; n < 4; n += 1) calls.push(sendPart(scene.server.url, token, part))
  await expect.poll(() => calls.filter(({ request }) => request.socket?.bytesWritten ?? 0).length).toBe(4)
  calls.push(sendPart(scene.server.url, token, part), sendPart(scene.server.url, token, part))
  await expect.poll(() => statusesOf(calls).filter((status) => status === 429)).toHaveLength(2)
  const path = '/v1/annotations/pipeline/other'
  const answer = await scene.admin
    .text('PUT', path, { body: { values: { a: 'x'.repeat(1000) } } })
    .catch((error: unknown) => error)
  expect(answer).not.toMatchObject({ code: 'rate-limited' })
  for (const { request } of calls) request.destroy()
  const again = (): Promise<unknown> =>
    scene.nobody
      .withToken(token)
      .text('PUT', path, { body: { values: {} } })
      .catch(({ code }: { code: string }) => code)
  await expect.poll(again).not.toBe('rate-limited')
})

test('a connection whose body does not arrive in time is closed, and one that is read in time is not', async () => {
  await using scene = await openHttpScene()
  const { app } = scene.server
  const closed = Promise.withResolvers<void>()
  const echo = route('POST', '/echo', {
    summary: 'Return the number of bytes after the time of a body',
    allow: 'signed-in',
    scope: 'none',
    body: z.object({ text: z.string() }),
    replies: { 200: z.object({ bytes: z.number() }) },
    async handle({ body }) {
      // The time of this body is over a moment after that of the slow one.
      await closed.promise
      await app.clock.sleep(300)
      return ok({ bytes: body.text.length })
    },
  })
  const http = openHttp(app, { routes: [echo], authenticator: openAuthenticator(app.store.query, app.vault), bodyMs: 1_000 })
  const url = await http.listen({ host: '127.0.0.1', port: 0 })
  const slow = sendPart(url, scene.adminToken, { path: '/echo', bytes: 100 })
  slow.request.once('close', () => closed.resolve())
  const headers = { authorization: `Bearer ${scene.adminToken}`, 'content-type': 'application/json' }
  const answer = fetch(`${url}/echo`, { method: 'POST', headers, body: JSON.stringify({ text: 'abc' }) })
  await closed.promise
  expect(slow.status).toBe('open')
  expect(await (await answer).json()).toEqual({ bytes: 3 })
  await http.close()
})

test('refuses the ninth frame of an attempt while eight wait, and takes it later', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock })
  const { engine } = await scene.start()
  const append = vi.spyOn(scene.server.app.logs, 'append')
  const send = (offset: number, isAhead: boolean): Promise<string> => {
    const body = Buffer.from('x')
    const headers = {
      'x-windlass-stream': 'system',
      'x-windlass-offset': String(offset),
      'x-windlass-sha256': sha256(body),
      'x-windlass-at': '1',
      ...(isAhead && { 'x-windlass-ahead': '1' }),
    }
    return engine.client.text('POST', '/v1/engine/logs', { body, headers }).then(
      () => 'taken',
      ({ code }: { code: string }) => code,
    )
  }
  const answers: string[] = []
  const sent = Array.from({ length: 20 }, async () => void answers.push(await send(1_000_000, true)))
  await expect.poll(() => [answers.length, append.mock.calls.length]).toEqual([12, 8])
  // The time for which a frame waits for earlier ones.
  clock.advance(2_000)
  await Promise.all(sent)
  expect(answers.toSorted()).toEqual([...Array(8).fill('log-offset'), ...Array(12).fill('rate-limited')])
  expect(await send(0, false)).toBe('taken')
})
