/** Webhooks over HTTP, as a forge calls them. */
import { systemClock } from '@windlass/kit'
import { DeliveryReceipt, type Delivery, type WebhookCreated } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { githubCall, type GithubCall } from '../../support/forge-scene.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { githubPush } from '../../support/payloads/payloads.ts'

const PIPELINE = 'team/app'

async function openForge(scene: HttpScene): Promise<WebhookCreated> {
  const { admin } = scene
  await admin.pipelines.create({ name: PIPELINE, document: HELLO })
  await admin.triggers.create({ pipeline: PIPELINE, name: 'push', repo: 'acme/app', events: ['push.heads'], branchRegex: 'main' })
  return admin.webhooks.create({ name: 'github', forge: 'github' })
}

async function call(webhook: WebhookCreated, body: unknown, more: GithubCall = {}): Promise<Response> {
  const { headers, body: bytes } = githubCall(webhook, body, more)
  return fetch(webhook.url, { method: 'POST', headers, body: bytes.toString() })
}

/** Waits until a delivery is processed. */
async function processed({ admin }: HttpScene, answer: Response): Promise<Delivery> {
  const { id } = DeliveryReceipt.parse(await answer.json())
  for (;;) {
    const delivery = await admin.deliveries.get(id)
    if (delivery.status !== 'received') return delivery
    await systemClock.sleep(20)
  }
}

test('a signed push starts a build of the pipeline, and the delivery shows it (P141)', async () => {
  await using scene = await openHttpScene()
  const webhook = await openForge(scene)
  const answer = await call(webhook, githubPush(), { id: 'one' })
  expect(answer.status).toBe(202)
  const delivery = await processed(scene, answer)
  expect(delivery).toMatchObject({ status: 'processed', webhook: 'github', repo: 'acme/app', builds: [expect.any(String)] })
  const build = await scene.admin.builds.get(delivery.builds[0] ?? '')
  expect(build).toMatchObject({
    pipeline: PIPELINE,
    branch: 'main',
    initiator: 'ann',
    trigger: { kind: 'webhook', name: 'push' },
  })
  expect(await (await call(webhook, githubPush(), { id: 'one' })).json()).toEqual({ id: delivery.id, isRepeat: true })
  const replay = await scene.admin.deliveries.replay(delivery.id)
  expect(replay).toMatchObject({ status: 'received', replayOf: delivery.id })
  await expect.poll(async () => (await scene.admin.deliveries.get(replay.id)).builds.length).toBe(1)
  expect((await scene.admin.builds.list()).items).toHaveLength(2)
})

test('the answer contains no secret, and lists of webhooks and deliveries neither', async () => {
  await using scene = await openHttpScene()
  const webhook = await openForge(scene)
  const delivery = await processed(scene, await call(webhook, githubPush()))
  const shown = JSON.stringify([
    await scene.admin.webhooks.list(),
    await scene.admin.webhooks.get('github'),
    await scene.admin.deliveries.list(),
    await scene.admin.deliveries.get(delivery.id),
  ])
  expect(shown).not.toContain(webhook.secret)
  expect(webhook.url).not.toContain(webhook.secret)
})

test('refuses calls without the secret, of unknown webhooks, of other types and of any size', async () => {
  await using scene = await openHttpScene()
  const webhook = await openForge(scene)
  const { headers, body } = githubCall(webhook, githubPush())
  const status = async (more: { url?: string; headers?: object; body?: string }): Promise<number> => {
    const sent = { method: 'POST', headers: { ...headers, ...more.headers }, body: more.body ?? body.toString() }
    return (await fetch(more.url ?? webhook.url, sent)).status
  }
  expect(await status({ headers: { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` } })).toBe(401)
  expect(await status({ headers: { 'x-hub-signature-256': '' } })).toBe(401)
  expect(await status({ url: webhook.url.replace(webhook.id, 'f'.repeat(24)) })).toBe(404)
  expect(await status({ headers: { 'content-type': 'text/plain' } })).toBe(400)
  expect(await status({ body: ' '.repeat(1_048_577) })).toBe(413)
  expect((await scene.admin.builds.list()).items).toEqual([])
  expect((await scene.admin.deliveries.list()).items).toMatchObject([
    { status: 'refused', reason: 'signature-wrong', repeats: 1 },
  ])
  await expect(scene.nobody.deliveries.list()).rejects.toMatchObject({ code: 'unauthenticated' })
})

test('reads the form that GitHub can send', async () => {
  await using scene = await openHttpScene()
  const webhook = await openForge(scene)
  const form = new URLSearchParams({ payload: JSON.stringify(githubPush()) }).toString()
  const { headers } = githubCall(webhook, form)
  const answer = await fetch(webhook.url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    body: form,
  })
  expect(answer.status).toBe(202)
  await expect.poll(async () => (await scene.admin.builds.list()).items.length).toBe(1)
})

test('stores and answers calls while the server processes others', async () => {
  await using scene = await openHttpScene()
  const webhook = await openForge(scene)
  const times: number[] = []
  for (let n = 0; n < 40; n += 1) {
    const before = n.toString(16).padStart(40, 'a')
    const started = systemClock.monotonic()
    expect((await call(webhook, githubPush({ before }))).status).toBe(202)
    times.push(systemClock.monotonic() - started)
  }
  // The bound of 100 ms holds on a machine that does nothing else; a test must not fail because of its neighbors.
  expect(times.toSorted((a, b) => a - b)[20]).toBeLessThan(500)
  await expect.poll(async () => (await scene.admin.builds.list({ query: { limit: 100 } })).items.length).toBe(40)
})

test('pages of deliveries are complete', async () => {
  await using scene = await openHttpScene()
  const webhook = await openForge(scene)
  for (let n = 0; n < 7; n += 1) await call(webhook, githubPush({ before: n.toString(16).padStart(40, 'a') }))
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const { items, next } = await scene.admin.deliveries.list({ query: { limit: 3, cursor } })
    seen.push(...items.map(({ id }) => id))
    cursor = next
  } while (cursor !== undefined)
  expect(new Set(seen).size).toBe(7)
  expect(seen).toHaveLength(7)
  await expect(scene.admin.deliveries.list({ query: { cursor: 'x' } })).rejects.toMatchObject({ code: 'request-invalid' })
})

test('a trigger is shown and changed by its id and by its pipeline and name', async () => {
  await using scene = await openHttpScene()
  await openForge(scene)
  const { triggers } = scene.admin
  const trigger = await triggers.get(`${PIPELINE}#push`)
  expect(await triggers.get(trigger.id)).toEqual(trigger)
  const { id, origin: _origin, createdAt: _created, updatedAt: _updated, ...input } = trigger
  expect(await triggers.put(id, { ...input, disabled: true })).toMatchObject({ id, disabled: true })
  expect((await triggers.list({ query: { pipeline: PIPELINE } })).items).toMatchObject([{ id, disabled: true }])
  await expect(triggers.list({ query: { pipeline: 'none' } })).rejects.toMatchObject({ code: 'not-found' })
  await triggers.delete(`${PIPELINE}#push`)
  await expect(triggers.get(id)).rejects.toMatchObject({ code: 'not-found' })
})
