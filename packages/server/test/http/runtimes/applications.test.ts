/** Reports of applications over HTTP: whose token may report, limits of bodies, and who may see the applications. */
import { gzipSync } from 'node:zlib'
import { listAll } from '@windlass/client'
import { REPORTER_ROUTES } from '@windlass/client/reporter'
import { MAX_PAYLOADS, MAX_EVENTS_BODY_BYTES, STREAM_EVENTS, type StreamEvent } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { argoApplication, event, goneEvent, openReporter } from '../../support/fakes/application-reporter.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

interface Raw {
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a body as it is. Returns the status and the problem or the answer. */
async function send({ server }: HttpScene, { body, headers = {} }: Raw): Promise<{ status: number; answer: unknown }> {
  const { method, path } = REPORTER_ROUTES.events
  const init = {
    method,
    body: typeof body === 'string' ? body : new Uint8Array(body),
    headers: { 'content-type': 'application/json', ...headers },
  }
  const answer = await fetch(server.url + path, init)
  return { status: answer.status, answer: await answer.json() }
}

test('a runtime reports its applications with its token, and users see them with their roles (O058)', async () => {
  await using scene = await openHttpScene()
  const { admin, nobody, server } = scene
  const { token } = await admin.gitopsRuntimes.createToken('prod')
  const other = await admin.gitopsRuntimes.createToken('other')
  const now = Date.now()
  const names = Array.from({ length: 250 }, (_, n) => `app-${String(n).padStart(3, '0')}`)
  const reporter = openReporter(scene, token)
  for (let at = 0; at < names.length; at += MAX_PAYLOADS)
    await reporter({ data: names.slice(at, at + MAX_PAYLOADS).map((name) => event(argoApplication(name), now)) })
  await openReporter(scene, other.token)({ data: event(argoApplication('app-000', { health: 'Degraded' }), now) })
  expect((await listAll((page) => admin.applications.list(page))).map(({ name }) => name)).toEqual(['app-000', ...names])
  expect((await admin.applications.list({ query: { runtime: 'other' } })).items).toMatchObject([
    { name: 'app-000', runtime: 'other' },
  ])
  expect(await admin.applications.get('prod/argocd/app-007')).toMatchObject({ name: 'app-007', runtime: 'prod' })
  await expect(admin.applications.get('prod/argocd/none')).rejects.toMatchObject({ code: 'not-found' })
  const viewer = nobody.withToken((await admin.keys.create({ name: 'viewer', role: 'viewer' })).token)
  expect((await viewer.applications.list({ query: { sort: 'health', limit: 1 } })).items).toMatchObject([{ health: 'degraded' }])
  const builder = nobody.withToken((await admin.keys.create({ name: 'builder', role: 'admin', scopes: ['build:write'] })).token)
  await expect(builder.applications.list()).rejects.toMatchObject({ code: 'scope-missing' })

  // The token of a runtime reports and reads nothing, and no other credential reports.
  const runtime = nobody.withToken(token)
  for (const call of [
    runtime.applications.list(),
    runtime.tunnels.list(),
    runtime.builds.list(),
    runtime.gitopsRuntimes.createToken('prod'),
  ])
    await expect(call).rejects.toMatchObject({ code: 'forbidden' })
  for (const wrong of [scene.adminToken, scene.agentToken])
    await expect(openReporter(scene, wrong)({ data: [] })).rejects.toMatchObject({ code: 'forbidden' })
  for (const wrong of [`${token}x`, 'nonsense'])
    await expect(openReporter(scene, wrong)({ data: [] })).rejects.toMatchObject({ code: 'unauthenticated' })
  // Public reporters send the bare token, and no compression.
  const bare = { authorization: token }
  expect(await send(scene, { body: JSON.stringify({ data: goneEvent('app-249', now + 1) }), headers: bare })).toMatchObject({
    status: 200,
    answer: { taken: 1, ignored: 0 },
  })
  expect((await admin.audit.list()).items.filter(({ action }) => action.includes('events'))).toEqual([])
  await admin.gitopsRuntimes.deleteToken('prod', token.split('.')[0] ?? '')
  await expect(reporter({ data: [] })).rejects.toMatchObject({ code: 'unauthenticated' })
  expect(server.app.closing.aborted).toBe(false)
})

test('the stream of a page says that applications have changed and how many are not well, and nothing to who has a role in a project only', async () => {
  await using scene = await openHttpScene()
  const { admin, nobody } = scene
  await admin.projects.create({ name: 'shop' })
  await admin.users.create({ name: 'guest', kind: 'service-account', role: 'none', projects: { shop: 'admin' } })
  const guest = nobody.withToken((await admin.keys.create({ name: 'guest', role: 'admin', owner: 'guest' })).token)
  const stop = new AbortController()
  const events = async (client: typeof admin, found: StreamEvent[]): Promise<void> => {
    for await (const { event: name, data, id } of client.server.stream({ query: { topic: ['account'] }, signal: stop.signal }))
      found.push({
        event: name,
        id,
        data: STREAM_EVENTS[name as keyof typeof STREAM_EVENTS].parse(JSON.parse(data)),
      } as StreamEvent)
  }
  const [seen, hidden]: [StreamEvent[], StreamEvent[]] = [[], []]
  const streams = [events(admin, seen), events(guest, hidden)].map((stream) => stream.catch(() => undefined))
  const counts = (found: readonly StreamEvent[]) =>
    found.flatMap(({ event: name, data }) => (name === 'counts' ? [data.counts] : []))
  const changes = (): number =>
    seen.filter(({ event: name, data }) => name === 'changed' && data.change.noun === 'applications').length
  await expect.poll(() => [counts(seen).length, counts(hidden).length]).toEqual([1, 1])
  expect(counts(seen)[0]).not.toHaveProperty('applications')
  const { token } = await admin.gitopsRuntimes.createToken('prod')
  const report = openReporter(scene, token)
  const now = Date.now() - 60_000
  await report({ data: [event(argoApplication('shop', { health: 'Missing' }), now), event(argoApplication('mail'), now)] })
  await expect.poll(() => counts(seen).at(-1)).toMatchObject({ applications: 1 })
  const before = changes()
  expect(before).toBeGreaterThan(0)
  // Only the message of its health differs: the counts stay.
  await report({
    data: event(
      argoApplication('shop', { version: 2, status: { health: { status: 'Missing', message: 'the image cannot be pulled' } } }),
      now + 1_000,
    ),
  })
  await expect.poll(changes).toBeGreaterThan(before)
  await report({ data: event(argoApplication('shop', { version: 3 }), now + 2_000) })
  await expect.poll(() => counts(seen).at(-1)).toMatchObject({ applications: 0 })
  expect(JSON.stringify(hidden)).not.toContain('applications')
  stop.abort()
  await Promise.all(streams)
})

test('a body that is too large or not valid is refused with what is wrong, and stores nothing', async () => {
  await using scene = await openHttpScene()
  const { token } = await scene.admin.gitopsRuntimes.createToken('prod')
  const headers = { authorization: `Bearer ${token}` }
  const good = event(argoApplication('shop'), Date.now())
  const wrong: readonly (readonly [object, string])[] = [
    [{ data: { timestamp: 'yesterday', actualManifest: '{}' } }, 'data.0.timestamp'],
    [{ data: [good, { timestamp: '2027-01-10T08:00:00Z' }] }, 'data.1.source.name'],
    [{ data: [good, { timestamp: '2027-01-10T08:00:00Z', actualManifest: '[]' }] }, 'data.1'],
    [{ data: event({ ...argoApplication('shop'), status: { resources: 5 } }, Date.now()) }, 'data.0.status.resources'],
    [{ data: event(argoApplication('no/name'), Date.now()) }, 'data.0.metadata.name'],
    [{ data: Array.from({ length: MAX_PAYLOADS + 1 }, () => good) }, 'data'],
    [{ data: [], reporter: { shard: 2, shards: 2 } }, 'reporter.shard'],
    [{}, 'data.0'],
  ]
  for (const [body, path] of wrong)
    expect(await send(scene, { body: JSON.stringify(body), headers })).toMatchObject({
      status: 400,
      answer: { code: 'request-invalid', detail: expect.stringContaining(path) },
    })
  const packed = { ...headers, 'content-encoding': 'gzip' }
  expect(await send(scene, { body: 'not gzip', headers: packed })).toMatchObject({ status: 400 })
  expect(await send(scene, { body: '{}', headers: { ...headers, 'content-encoding': 'br' } })).toMatchObject({ status: 400 })
  // A small body that becomes a large one.
  const bomb = gzipSync(Buffer.alloc(MAX_EVENTS_BODY_BYTES + 1, ' '))
  expect(await send(scene, { body: bomb, headers: packed })).toMatchObject({ status: 413, answer: { code: 'payload-too-large' } })
  const deep = `{"data":{"timestamp":"2027-01-10T08:00:00Z","actualManifest":${JSON.stringify('['.repeat(100_000))}}}`
  expect(await send(scene, { body: deep, headers })).toMatchObject({ status: 400 })
  // Lists that are valid each, and too much together.
  const status = { others: Array.from({ length: 1_000 }, () => ({})) }
  const many = Array.from({ length: MAX_PAYLOADS }, (_, n) => event(argoApplication(`app-${n}`, { status }), Date.now()))
  expect(await send(scene, { body: JSON.stringify({ data: many }), headers })).toMatchObject({
    status: 400,
    answer: { detail: expect.stringContaining('fields and list items') },
  })
  expect((await scene.admin.applications.list()).items).toEqual([])
})

test('what is shown has no control characters, no login of a repository, and no more than the limits', async () => {
  await using scene = await openHttpScene()
  const { token } = await scene.admin.gitopsRuntimes.createToken('prod')
  const resources = Array.from({ length: 3_000 }, (_, n) => ({ kind: 'ConfigMap', name: `c-${n}`, status: 'Synced' }))
  const object = argoApplication('shop', {
    health: 'Degraded',
    spec: { source: { repoURL: 'https://user:secret@git.test/shop.git', helm: { values: 'password: hidden-value' } } },
    status: {
      resources: [
        ...resources,
        { kind: 'Pod', name: 'bad', status: 'OutOfSync', health: { status: 'Degraded', message: '\u001b[31mred\u0000' } },
      ],
      conditions: [{ type: 'Warning', message: 'x'.repeat(10_000) }],
    },
  })
  await openReporter(scene, token)({ data: event(object, Date.now()) })
  const shown = await scene.admin.applications.get('prod/argocd/shop')
  expect(shown).toMatchObject({ resourceCount: 3_001, sources: [{ repo: 'https://git.test/shop.git' }] })
  expect(shown.resources).toHaveLength(1_000)
  expect(shown.resources[0]).toMatchObject({ kind: 'Pod', name: 'bad', message: '[31mred' })
  expect(shown.why).toBe('Pod bad is degraded: [31mred.')
  expect(shown.conditions[0]?.message.length).toBe(2_000)
  expect(JSON.stringify(shown)).not.toContain('secret')
  expect(JSON.stringify(shown)).not.toContain('hidden-value')
})

test('a page of the longest applications stays small', async () => {
  await using scene = await openHttpScene()
  const { token } = await scene.admin.gitopsRuntimes.createToken('prod')
  const reporter = openReporter(scene, token)
  const conditions = Array.from({ length: 30 }, (_, n) => ({ type: `Warning${n}`, message: 'x'.repeat(900) }))
  const names = Array.from({ length: 500 }, (_, n) => `app-${n}`)
  for (let at = 0; at < names.length; at += MAX_PAYLOADS / 2) {
    const some = names.slice(at, at + MAX_PAYLOADS / 2)
    await reporter({ data: some.map((name) => event(argoApplication(name, { status: { conditions } }), Date.now())) })
  }
  const page = await scene.admin.applications.list({ query: { limit: 500 } })
  expect(page.items).toHaveLength(500)
  expect(page.items[0]?.conditions).toHaveLength(20)
  expect(JSON.stringify(page).length).toBeLessThan(500 * 17_000)
})
