/** The registry of tunnels in the store: tokens, the one connection of a runtime, and how servers share it. */
import type { GitopsTokenCreated } from '@windlass/protocol'
import type { Session, TunnelRegistry } from '@windlass/tunnel/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import {
  disconnectTunnel,
  listShownTunnels,
  openRegistry,
  showTunnel,
  type RegistryOptions,
} from '../../../src/gitops/registry.ts'
import { peerKey } from '../../../src/gitops/peer-key.ts'
import { createGitopsToken, deleteToken, listTokens, prefixOf, removeGitopsRuntime } from '../../../src/gitops/runtimes.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const TIMINGS = { heartbeatMs: 15_000, deadMs: 45_000, idleMs: 300_000, drainMs: 60_000 }

function registryOf(app: App, server: string, options: Partial<RegistryOptions> = {}): TunnelRegistry {
  return openRegistry(app, { server, serverUrl: `http://${server}`, secondClient: 'reject', timings: TIMINGS, ...options })
}

async function sessionOf(
  registry: TunnelRegistry,
  { token, runtime }: GitopsTokenCreated,
  id: string,
  client = id,
): Promise<Session> {
  const hello = { token, runtime, clientId: client, clientVersion: '1.0.0', address: '10.0.0.1', isStandby: false }
  return { ...(await registry.authenticate(hello)), id, clientId: client, clientVersion: '1.0.0', address: '10.0.0.1' }
}

const create = (app: App, runtime = 'prod') => createGitopsToken(app, { runtime, by: 'mira' })

const statusOf = async (app: App): Promise<string | undefined> => (await showTunnel(app, 'prod')).status

describe.each(DATABASES)('tunnels on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('a token connects the runtime that it was made for, and nothing else (O006)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const registry = registryOf(app, 'one')
    const prod = await create(app)
    const other = await create(app, 'other')
    expect(await registry.authenticate({ ...helloOf(prod), runtime: 'prod' })).toMatchObject({
      runtime: 'prod',
      prefix: `${app.accountId}-prod`,
      tokenId: prod.id,
    })
    await expect(registry.authenticate({ ...helloOf(other), runtime: 'prod' })).rejects.toMatchObject({ code: 'forbidden' })
    for (const token of ['', 'x', `${prod.id}.${'a'.repeat(43)}`, `${'f'.repeat(24)}.${'a'.repeat(43)}`])
      await expect(registry.authenticate({ ...helloOf(prod), token })).rejects.toMatchObject({ code: 'unauthenticated' })
    const rows = await app.store.query.selectFrom('gitops_token').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(prod.token.split('.')[1])
    expect(await listTokens(app, 'prod')).toEqual([
      { id: prod.id, runtime: 'prod', createdBy: 'mira', createdAt: app.clock.now() },
    ])
  })

  test('one client of a runtime is connected: a second one waits until it is late, and the same one may replace itself (O007)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const registry = registryOf(app, 'one')
    const token = await create(app)
    expect(await statusOf(app)).toBe('offline')
    const first = await sessionOf(registry, token, 'first')
    await registry.claim(first)
    expect(await statusOf(app)).toBe('connecting')
    expect(await registry.beat(first)).toBeUndefined()
    expect(await statusOf(app)).toBe('online')
    const second = await sessionOf(registry, token, 'second')
    clock.advance(29_999)
    await expect(registry.claim(second)).rejects.toMatchObject({ code: 'tunnel-taken', details: { retryAfter: 1 } })
    // The process itself connects again, with another token. The earlier connection has calls until the later one is ready.
    const again = await sessionOf(registry, await create(app), 'again', 'first')
    await registry.claim(again)
    expect(await registry.check(first)).toBeUndefined()
    await registry.beat(again)
    expect(await registry.beat(first)).toEqual({ reason: 'replaced', isOwn: true })
    // The end of the earlier connection is not that of the runtime.
    await registry.release(first)
    expect(await statusOf(app)).toBe('online')
    clock.advance(30_000)
    expect(await statusOf(app)).toBe('stale')
    await registry.claim(second)
    await registry.beat(second)
    expect(await registry.check(again)).toEqual({ reason: 'replaced', isOwn: false })
    await registry.release(second)
    expect(await statusOf(app)).toBe('offline')
    await registry.claim(await sessionOf(registry, token, 'third'))
  })

  test('a connection that works keeps its place until the later one is welcomed, and has it again if that fails (O015)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const [one, two, three] = [registryOf(app, 'one'), registryOf(app, 'two'), registryOf(app, 'three')]
    const token = await create(app)
    const first = await sessionOf(one, token, 'first')
    await one.claim(first)
    await one.beat(first)
    // The same process connects again at another server, and is not welcomed there.
    const again = await sessionOf(two, token, 'again', 'first')
    await two.claim(again)
    expect([await two.check(again), await one.beat(first), await statusOf(app)]).toEqual([undefined, undefined, 'online'])
    expect(await three.find(prefixOf(app, 'prod'))).toEqual({ peer: 'http://one' })
    clock.advance(15_000)
    expect(await one.beat(first)).toBeUndefined()
    await two.release(again)
    expect([await one.check(first), await one.beat(first), await statusOf(app)]).toEqual([undefined, undefined, 'online'])
    const other = await sessionOf(two, token, 'other')
    await expect(two.claim(other)).rejects.toMatchObject({ code: 'tunnel-taken' })
    // Another client takes the place of a silent one and fails: by an end, and with its server.
    clock.advance(30_000)
    await two.claim(other)
    expect(await one.beat(first)).toBeUndefined()
    await two.release(other)
    expect([await one.beat(first), await statusOf(app)]).toEqual([undefined, 'online'])
    clock.advance(30_000)
    await two.claim(await sessionOf(two, token, 'lost'))
    clock.advance(10_000)
    expect([await one.check(first), await one.beat(first), await statusOf(app)]).toEqual([undefined, undefined, 'online'])
    // What was ended by hand does not come back.
    await disconnectTunnel(app, 'prod')
    expect([await one.beat(first), await statusOf(app)]).toEqual([{ reason: 'disconnected' }, 'offline'])
  })

  test('a client that waited for its first beat does not take the place of one that came meanwhile (O007)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const registry = registryOf(app, 'one')
    const token = await create(app)
    const first = await sessionOf(registry, token, 'first')
    await registry.claim(first)
    await registry.beat(first)
    const again = await sessionOf(registry, token, 'again', 'first')
    await registry.claim(again)
    clock.advance(30_000)
    const other = await sessionOf(registry, token, 'other')
    await registry.claim(other)
    await registry.beat(other)
    expect(await registry.beat(again)).toEqual({ reason: 'replaced', isOwn: false })
    expect(await registry.beat(first)).toEqual({ reason: 'replaced', isOwn: false })
    expect(await registry.check(other)).toBeUndefined()
  })

  test('the newest client wins if the server says so (O007)', async () => {
    await using held = await openTestApp(database)
    const registry = registryOf(held.app, 'one', { secondClient: 'replace' })
    const token = await create(held.app)
    const first = await sessionOf(registry, token, 'first')
    await registry.claim(first)
    await registry.beat(first)
    const second = await sessionOf(registry, token, 'second')
    await registry.claim(second)
    await registry.beat(second)
    expect(await registry.check(first)).toEqual({ reason: 'replaced', isOwn: false })
  })

  test('two clients at two servers at the same time: exactly one gets the place (O007)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const token = await create(app)
    for (let n = 0; n < 5; n += 1) {
      const claims = await Promise.allSettled(
        ['one', 'two'].map(async (server) => {
          const registry = registryOf(app, server)
          const session = await sessionOf(registry, token, `${server}-${n}`)
          await registry.claim(session)
          return { registry, session }
        }),
      )
      const won = claims.flatMap((claim) => (claim.status === 'fulfilled' ? [claim.value] : []))
      expect(won).toHaveLength(1)
      await won[0]?.registry.release(won[0].session)
    }
  })

  test('another server finds where a runtime is connected, until that is silent for too long (O016)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const [one, two] = [registryOf(app, 'one'), registryOf(app, 'two')]
    const token = await create(app)
    const prefix = prefixOf(app, 'prod')
    expect(await two.find(prefix)).toEqual({})
    for (const unknown of ['prod', `${app.accountId}-`, `${app.accountId}-other`, `${'f'.repeat(24)}-prod`])
      expect(await two.find(unknown)).toBeUndefined()
    const session = await sessionOf(one, token, 'first')
    await one.claim(session)
    await one.beat(session)
    expect([await one.find(prefix), await two.find(prefix)]).toEqual([{}, { peer: 'http://one' }])
    clock.advance(45_000)
    expect(await two.find(prefix)).toEqual({})
    await one.beat(session)
    expect(await two.find(prefix)).toEqual({ peer: 'http://one' })
    await one.release(session)
    expect(await two.find(prefix)).toEqual({})
  })

  test('a connection ends with its token, its runtime and by hand, and each change wakes the servers (O015)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const registry = registryOf(app, 'one')
    const token = await create(app)
    const { id } = await showTunnel(app, 'prod')
    const woken: string[] = []
    using _listening = app.store.listen((topic) => void woken.push(topic))
    const session = await sessionOf(registry, token, 'first')
    await registry.claim(session)
    await registry.beat(session)
    expect(await registry.check(session)).toBeUndefined()
    woken.length = 0
    expect(await disconnectTunnel(app, 'prod')).toMatchObject({ status: 'offline' })
    expect(await registry.check(session)).toEqual({ reason: 'disconnected' })
    expect(woken).toContain(`tunnel/${id}`)
    await registry.claim(session)
    woken.length = 0
    await deleteToken(app, 'prod', token.id)
    expect(woken).toContain(`tunnel/${id}`)
    expect(await registry.check(session)).toEqual({ reason: 'revoked' })
    await expect(registry.claim(session)).rejects.toMatchObject({ code: 'unauthenticated' })
    await expect(deleteToken(app, 'prod', token.id)).rejects.toMatchObject({ code: 'not-found' })
    woken.length = 0
    await removeGitopsRuntime(app, 'prod')
    expect(woken).toContain(`tunnel/${id}`)
    expect(await registry.check(session)).toEqual({ reason: 'removed' })
    expect(await listShownTunnels(app)).toEqual([])
    // The name is free, and belongs to another runtime.
    await create(app)
    expect((await showTunnel(app, 'prod')).id).not.toBe(id)
    expect(await registry.check(session)).toEqual({ reason: 'removed' })
  })

  test('a runtime has a limited number of tokens', async () => {
    await using held = await openTestApp(database)
    for (let n = 0; n < 20; n += 1) await create(held.app)
    await expect(create(held.app)).rejects.toMatchObject({
      code: 'conflict',
      hint: expect.stringContaining('gitops token delete'),
    })
  })

  test('a server believes the proof of a server with the same master key only (O016)', async () => {
    await using held = await openTestApp(database)
    await using stranger = await openTestApp(database)
    const key = peerKey(held.app)
    const code = await key.sign('a call')
    expect(key.verify('a call', code)).toBe(true)
    for (const wrong of [
      '',
      'x',
      'a~b',
      `${code}x`,
      code.replace(/^[^~]*/, 'f'.repeat(16)),
      await peerKey(stranger.app).sign('a call'),
    ])
      expect(key.verify('a call', wrong)).toBe(false)
    expect(key.verify('another call', code)).toBe(false)
  })
})

function helloOf({ token, runtime }: GitopsTokenCreated) {
  return { token, runtime, clientId: 'client-1', clientVersion: '1.0.0', address: '10.0.0.1', isStandby: false }
}
