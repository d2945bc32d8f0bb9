/** Events and triggers for public clients are the cron and event triggers of `/v1`. */
import { z } from 'zod'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'

let scene: HttpScene
beforeAll(async () => {
  scene = await openHttpScene()
  await scene.admin.pipelines.create({ name: 'shop/app', document: HELLO })
})
afterAll(() => scene[Symbol.asyncDispose]())

async function call(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
  const headers = { authorization: `Bearer ${scene.adminToken}`, 'content-type': 'application/json' }
  const answer = await fetch(`${scene.server.url}/api/hermes${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? undefined : (JSON.parse(text) as unknown) }
}

/** Clients encode the event in the path of a trigger twice. */
const pathOf = (event: string): string =>
  `/triggers/${encodeURIComponent(encodeURIComponent(event))}/${encodeURIComponent('shop/app')}`

test('an event of a time becomes a cron trigger, once, and is deleted with it', async () => {
  const values = { expression: '*/5 3 * * *', message: 'at night' }
  const { body } = await call('POST', '/events', { type: 'cron', kind: 'codefresh', secret: '!generate', values })
  const event = z.string().parse(body)
  expect(event).toMatch(/^cron:codefresh:\*\/5 3 \* \* \*:at night:[0-9a-f]{12}$/)
  expect((await call('GET', '/events')).body).toEqual([])
  for (let n = 0; n < 2; n += 1) expect(await call('POST', pathOf(event), { filters: {} })).toMatchObject({ status: 200 })
  expect((await scene.admin.cronTriggers.list({ query: { pipeline: 'shop/app' } })).items).toMatchObject([
    { ...values, origin: 'api' },
  ])
  const { id } = await scene.admin.pipelines.get('shop/app')
  const shown = [{ event, pipeline: id, filters: {} }]
  for (const path of ['', `/event/${encodeURIComponent(event)}`, '/pipeline/shop%2Fapp', `/pipeline/${id}`])
    expect(await call('GET', `/triggers${path}`)).toEqual({ status: 200, body: shown })
  expect((await call('GET', '/events?type=cron&kind=codefresh&public=true')).body).toMatchObject([
    { uri: event, type: 'cron', status: 'active' },
  ])
  for (const query of ['type=registry', 'kind=other', 'filter=none'])
    expect((await call('GET', `/events?${query}`)).body).toEqual([])
  expect((await call('GET', `/events/${encodeURIComponent(event)}`)).body).toMatchObject({ uri: event, kind: 'codefresh' })
  expect((await call('DELETE', pathOf(event))).status).toBe(204)
  expect((await call('DELETE', pathOf(event))).status).toBe(404)
  expect((await scene.admin.cronTriggers.list({ query: { pipeline: 'shop/app' } })).items).toEqual([])
})

test('an event of a registry becomes an event trigger with its filter', async () => {
  const values = { namespace: 'acme', name: 'base' }
  const event = z.string().parse((await call('POST', '/events', { type: 'registry', kind: 'any', values })).body)
  expect(event).toMatch(/^registry:any:acme:base:push:/)
  await call('POST', pathOf(event), { filters: { tag: '^v' } })
  const [trigger] = (await scene.admin.eventTriggers.list({ query: { pipeline: 'shop/app' } })).items
  expect(trigger).toMatchObject({ type: 'registry', image: 'acme/base', tag: '^v' })
  expect((await call('GET', '/triggers')).body).toMatchObject([{ event, filters: { tag: '^v' } }])
  expect((await call('DELETE', pathOf(event))).status).toBe(204)
  expect((await call('GET', '/triggers')).body).toEqual([])
})

test('refuses events that cannot happen or do not exist, and lists the types', async () => {
  const cron = (values: object): ReturnType<typeof call> => call('POST', '/events', { type: 'cron', kind: 'codefresh', values })
  expect((await cron({ expression: 'never', message: 'x y' })).status).toBe(400)
  expect((await cron({ message: 'x y' })).status).toBe(400)
  expect((await cron({ expression: '*/10 * * * * *', message: 'x y' })).status).toBe(400)
  expect((await cron({ expression: '0 0 */1 * * *', message: 'x y' })).body).toMatch(/^cron:codefresh:0 \*\/1 \* \* \*:x y:/)
  expect((await call('POST', '/events', { type: 'git', kind: 'github', values: {} })).status).toBe(404)
  expect((await call('POST', pathOf('cron:codefresh:0 3 * * *:x y:000000000000'), { filters: {} })).status).toBe(404)
  expect((await call('GET', '/triggers/pipeline/none')).status).toBe(404)
  expect((await call('GET', '/types')).body).toMatchObject([{ type: 'cron', kind: 'codefresh' }, {}, {}, {}])
  expect((await call('GET', '/types/cron/codefresh')).body).toMatchObject({
    config: [{ name: 'expression' }, { name: 'message' }],
  })
  expect((await call('GET', '/types/git/github')).status).toBe(404)
})
