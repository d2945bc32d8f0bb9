import type { HttpRequest, Transport } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { AGENT_ROUTES } from './agent.ts'
import { engineCalls, ENGINE_ROUTES } from './engine.ts'
import { isCallOf, listAll, openClient, pathOf, ROUTES } from './index.ts'

/** Records requests, and returns the answers in order, the last one again and again. */
function record(...answers: readonly unknown[]): { readonly sent: HttpRequest[]; readonly transport: Transport } {
  const sent: HttpRequest[] = []
  const transport: Transport = async (request) => {
    const text = JSON.stringify(answers[Math.min(sent.push(request), answers.length) - 1])
    return { status: 200, headers: {}, body: [new TextEncoder().encode(text)] as never, text: async () => text }
  }
  return { sent, transport }
}

const URL = 'http://server'

test('fills the path in order and encodes it', async () => {
  const { sent, transport } = record({ held: [], terminals: [] })
  await openClient({ url: URL, transport }).debug.act('b', 'step/one two', 'continue')
  expect(sent).toMatchObject([{ method: 'POST', url: `${URL}/v1/builds/b/debug/step%2Fone%20two/continue`, body: undefined }])
})

test('rejects a name that would lead to another route', async () => {
  const { sent, transport } = record({})
  await expect(openClient({ url: URL, transport }).annotations.get('..', 'keys')).rejects.toMatchObject({
    code: 'request-invalid',
  })
  expect(sent).toEqual([])
})

test('sends the query and the body', async () => {
  const { sent, transport } = record({})
  const client = openClient({ url: `${URL}/`, token: 't', transport })
  await client.runtimes.put('a', { name: 'a', type: 'fake' }, { query: { description: 'why' } }).catch(() => undefined)
  expect(sent).toMatchObject([{ url: `${URL}/v1/runtimes/a?description=why`, body: '{"name":"a","type":"fake"}' }])
  expect(sent[0]?.headers).toMatchObject({ authorization: 'Bearer t' })
})

test('sends an empty body if all of its fields are optional', async () => {
  const { sent, transport } = record({})
  await openClient({ url: URL, transport })
    .builds.approve('b')
    .catch(() => undefined)
  expect(sent).toMatchObject([{ body: '{}' }])
})

test('sends bytes unchanged', async () => {
  const { sent, transport } = record({ offset: 2 })
  const bytes = new Uint8Array([1, 2])
  await engineCalls(openClient({ url: URL, transport })).sendFrame(bytes, { headers: { 'x-windlass-offset': '0' } })
  expect(sent[0]).toMatchObject({ url: `${URL}${ENGINE_ROUTES.sendFrame.path}`, body: bytes })
  expect(sent[0]?.headers).toMatchObject({ 'x-windlass-offset': '0', 'content-type': 'application/octet-stream' })
})

test('sends a new idempotency key with each call that creates something, unless the caller has one or wants none', async () => {
  const { sent, transport } = record({})
  const { keys, settings } = openClient({ url: URL, transport })
  const input = { name: 'ci' }
  for (const idempotencyKey of [undefined, undefined, 'mine', false] as const)
    await keys.create(input, { idempotencyKey }).catch(() => undefined)
  await settings.get().catch(() => undefined)
  const [first, second, third, ...rest] = sent.map(({ headers }) => headers['idempotency-key'])
  expect(first).toMatch(/^[0-9a-f]{32}$/)
  expect(second).toMatch(/^[0-9a-f]{32}$/)
  expect(second).not.toBe(first)
  expect([third, ...rest]).toEqual(['mine', undefined, undefined])
})

test('returns nothing where the server returns nothing', async () => {
  const { transport } = record('ignored')
  expect(await openClient({ url: URL, transport }).keys.delete('ci')).toBeUndefined()
})

test('keeps the typed methods with another token', async () => {
  const { sent, transport } = record({ items: [] })
  await openClient({ url: URL, transport }).withToken('other').agents.list()
  expect(sent[0]?.headers).toMatchObject({ authorization: 'Bearer other' })
})

test('lists all pages up to the limit', async () => {
  const image = {
    id: '0'.repeat(24),
    buildId: '1'.repeat(24),
    step: 's',
    imageId: 'i',
    name: 'n',
    tags: [],
    pushed: false,
    createdAt: 1,
  }
  const { sent, transport } = record({ items: [image, image], next: 'two' }, { items: [image] })
  const { images } = openClient({ url: URL, transport })
  expect(await listAll((page) => images.list(page))).toHaveLength(3)
  expect(sent.map(({ url }) => url.slice(URL.length))).toEqual(['/v1/images?limit=100', '/v1/images?limit=100&cursor=two'])
  const limited = record({ items: [image, image], next: 'two' })
  expect(await listAll((page) => openClient({ url: URL, ...limited }).images.list(page), 2)).toHaveLength(2)
  expect(limited.sent).toHaveLength(1)
})

test('tells which route a request calls', () => {
  const get = (path: string) => ({ method: 'GET', url: `${URL}/prefix${path}` })
  expect(isCallOf(ROUTES.builds.follow, get('/v1/builds/b/follow?after=0'))).toBe(true)
  expect(isCallOf(ROUTES.builds.get, get('/v1/builds/b/follow'))).toBe(false)
  expect(isCallOf(ROUTES.builds.terminate, get('/v1/builds/b/terminate'))).toBe(false)
  expect(isCallOf(AGENT_ROUTES.claim, { method: 'POST', url: pathOf(AGENT_ROUTES.claim) })).toBe(true)
  expect(pathOf(ROUTES.annotations.get, 'pipeline', 'a/b')).toBe('/v1/annotations/pipeline/a%2Fb')
})
