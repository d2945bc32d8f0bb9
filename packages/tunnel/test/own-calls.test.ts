/** Calls of the process that has the tunnels: the same ways and ends as those of callers, without a listener. */
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import type { OwnAnswer, OwnRequest } from '../src/server/index.ts'
import { openScene, until, type RunningServer } from './support/scene.ts'

const never = new AbortController().signal

function send({ tunnel }: RunningServer, path: string, given: Partial<OwnRequest> = {}): Promise<OwnAnswer> {
  return tunnel.call('a-prod', { method: 'GET', path, headers: {}, body: undefined, signal: never, ...given })
}

test('a server calls a runtime by itself, also one that is connected to another server (O016)', async () => {
  await using scene = await openScene()
  const far = await scene.startServer()
  await scene.connect()
  for (const server of [scene.server, far]) {
    const answer = await send(server, '/app-proxy/echo?at=here', {
      method: 'POST',
      headers: { authorization: 'Bearer pass', 'content-type': 'text/plain' },
      body: Buffer.from('body'),
    })
    expect(answer.status).toBe(200)
    expect(JSON.parse(await text(answer.body))).toMatchObject({
      body: 'body',
      target: '/app-proxy/echo?at=here',
      headers: { authorization: 'Bearer pass', 'content-length': '4', host: 'a-prod.tunnels.test' },
    })
  }
  const empty = await send(far, '/app-proxy/status?code=204')
  expect([empty.status, await text(empty.body)]).toEqual([204, ''])
})

test('a call of the server has the faults of other calls, and ends when it is given up (O016)', async () => {
  await using scene = await openScene()
  await expect(send(scene.server, '/app-proxy/echo')).rejects.toMatchObject({ code: 'tunnel-offline' })
  await scene.connect()
  await expect(send(scene.server, '/elsewhere')).rejects.toMatchObject({ code: 'tunnel-path' })
  await expect(
    scene.server.tunnel.call('a-unknown', {
      method: 'GET',
      path: '/app-proxy/echo',
      headers: {},
      body: undefined,
      signal: never,
    }),
  ).rejects.toMatchObject({ code: 'not-found' })
  const reader = new AbortController()
  const events = await send(scene.server, '/workflows/events', { signal: reader.signal })
  scene.router.send('one')
  const [first] = await events.body.take(1).toArray()
  expect(String(first)).toBe('data: one\n\n')
  await until(() => scene.router.left.includes('/workflows/events'))
  await expect(send(scene.server, '/app-proxy/echo', { signal: AbortSignal.abort(new Error('left')) })).rejects.toThrow('left')
})

test('an answer that breaks is not taken for a complete one (O016)', async () => {
  await using scene = await openScene()
  await scene.connect()
  const broken = await send(scene.server, '/app-proxy/break')
  await expect(text(broken.body)).rejects.toThrow('the answer ended early')
})
