/** A reporter of an API server that refuses a part of what it asks for, or fails. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { manualClock, nodeTransport, silentLog } from '@windlass/kit'
import { openKube } from '@windlass/kube'
import { createClient, MAX_LISTED, type EventReporter } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { startReporter } from './reporter.ts'

interface Body {
  readonly data: readonly { readonly actualManifest: string }[]
  readonly reporter: EventReporter
  readonly fullState?: {
    readonly chunk: number
    readonly isLast: boolean
    readonly kinds?: readonly string[]
    readonly objects?: readonly object[]
  }
}

const ABSENT = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404, message: 'no such kind' }
const FAILED = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 500, message: 'conversion webhook failed' }
const FORBIDDEN = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', code: 403, message: 'may not' }
const application = (version: number) => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Application',
  metadata: { name: 'shop', namespace: 'open', uid: 'u', resourceVersion: String(version) },
})
const rollout = (name: string) => ({
  apiVersion: 'argoproj.io/v1alpha1',
  kind: 'Rollout',
  metadata: { name, namespace: 'open', uid: name, resourceVersion: '1' },
})

interface Served {
  readonly rollouts?: readonly string[]
  /** Where they are looked for. */
  readonly places?: readonly string[]
  readonly maxEntries?: number
}

/**
 * Serves `shop` in the namespace `open`, which can be listed and not be read alone, rollouts, and nothing in `closed`. Takes reports too, and wants all that a full state names.
 */
async function openScene(namespaces: readonly string[], { rollouts = [], places = ['open'], maxEntries = 20_000 }: Served = {}) {
  const bodies: Body[] = []
  const watches: ServerResponse[] = []
  const state = { isClosed: true, reads: 0, broken: new Set<string>(), brokenReads: 0 }
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://local')
    const answer = (status: number, body: object): unknown =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (pathname === '/2.0/api/events') {
      void request.toArray().then((parts: Buffer[]) => {
        // The reporter sends JSON in gzip, and the test looks at it as the wire has it.
        const body = JSON.parse(gunzipSync(Buffer.concat(parts)).toString()) as Body
        bodies.push(body)
        const wanted = body.fullState === undefined ? [] : [{ namespace: 'open', name: 'shop' }]
        answer(200, { taken: 0, ignored: 0, wanted, wantedObjects: body.fullState?.objects ?? [] })
      })
      return
    }
    const isOpen = pathname.includes('/namespaces/open/')
    const [, plural, name] = /\/open\/(\w+)\/?(.*)$/.exec(pathname) ?? []
    const isWatch = searchParams.has('watch')
    if (plural === 'rollouts' && name !== undefined && name !== '') {
      const isBroken = state.broken.has(name)
      if (isBroken) state.brokenReads += 1
      answer(isBroken ? 500 : 200, isBroken ? FAILED : rollout(name))
    } else if (plural === 'rollouts' && isWatch) response.writeHead(200).flushHeaders()
    else if (plural === 'rollouts') answer(200, { metadata: { resourceVersion: '1' }, items: rollouts.map(rollout) })
    else if (isOpen && plural !== 'applications') answer(404, ABSENT)
    else if (pathname.endsWith('/shop')) {
      state.reads += 1
      answer(403, FORBIDDEN)
    } else if (!isOpen && state.isClosed) answer(403, FORBIDDEN)
    else if (isWatch) {
      response.writeHead(200).flushHeaders()
      if (isOpen) watches.push(response)
    } else answer(200, { metadata: { resourceVersion: '1' }, items: isOpen ? [application(1)] : [] })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  const folder = mkdtempSync(join(tmpdir(), 'windlass-reporter-'))
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, 'token')
  const kube = openKube({ access: { server: url, insecure: false, namespace: 'open' }, log: silentLog })
  const clock = manualClock(1_000_000)
  const client = createClient({ url, transport: nodeTransport() })
  const common = {
    kube,
    client,
    tokenFile,
    namespaces,
    objectNamespaces: rollouts.length > 0 ? places : [],
    limits: { maxEntries },
    shard: 0,
    shards: 1,
    version: '1',
    clock,
    log: silentLog,
  }
  const reporter = startReporter(common)
  return {
    bodies,
    clock,
    reporter,
    state,
    change: (version: number) => watches.at(-1)?.write(`${JSON.stringify({ type: 'MODIFIED', object: application(version) })}\n`),
    watching: () => watches.length,
    async [Symbol.asyncDispose]() {
      await reporter.close()
      kube.close()
      server.closeAllConnections()
      server.close()
      rmSync(folder, { recursive: true })
    },
  }
}

test('an application that may not be read does not hold up the others', async () => {
  await using scene = await openScene(['open'])
  const { reporter, state, bodies, clock } = scene
  await expect.poll(() => state.reads).toBe(1)
  await expect.poll(() => reporter.status()).toMatchObject({ waiting: 0, applications: 1 })
  const before = bodies.length
  await expect.poll(scene.watching).toBe(1)
  scene.change(2)
  await expect.poll(() => bodies.slice(before).flatMap(({ data }) => data)).toHaveLength(1)
  expect(clock.now()).toBe(1_000_000)
})

test('an object that cannot be read holds up neither others, changes nor signs of life, and is sent later', async () => {
  await using scene = await openScene(['open'], { rollouts: ['front', 'back'] })
  const { reporter, state, bodies, clock } = scene
  state.broken.add('front')
  const sent = (part: string): number =>
    bodies.flatMap(({ data }) => data).filter(({ actualManifest }) => actualManifest.includes(part)).length
  await expect.poll(() => sent('"name":"back"')).toBeGreaterThan(0)
  await expect.poll(() => reporter.status().waiting).toBe(1)
  await expect.poll(scene.watching).toBe(1)
  scene.change(2)
  await expect.poll(() => sent('"resourceVersion":"2"')).toBe(1)
  const before = bodies.length
  await expect
    .poll(() => {
      clock.advance(60_000)
      return bodies.slice(before)
    })
    .toContainEqual(expect.objectContaining({ data: [] }))
  expect([state.brokenReads > 0, sent('"name":"front"')]).toEqual([true, 0])
  state.broken.clear()
  await expect
    .poll(() => {
      clock.advance(15_000)
      return sent('"name":"front"')
    })
    .toBeGreaterThan(0)
  await expect.poll(() => reporter.status().waiting).toBe(0)
})

test('a full state ends although the server wants more objects than there is room for', async () => {
  const rollouts = Array.from({ length: MAX_LISTED + 10 }, (_, n) => `front-${n}`)
  await using scene = await openScene(['open'], { rollouts, maxEntries: 100 })
  const { reporter, bodies } = scene
  const last = expect.objectContaining({ chunk: 2, isLast: true })
  await expect.poll(() => bodies.map(({ fullState }) => fullState)).toContainEqual(last)
  await expect.poll(() => reporter.status()).toMatchObject({ waiting: 0, applications: 1 })
  const manifests = bodies.flatMap(({ data }) => data.map(({ actualManifest }) => actualManifest))
  expect(manifests.filter((manifest) => manifest.includes('"name":"shop"'))).toHaveLength(1)
})

test('rollouts are reported also if another namespace cannot be read, and are not said to be all', async () => {
  await using scene = await openScene(['open'], { rollouts: ['front'], places: ['open', 'closed'] })
  const { bodies } = scene
  await expect
    .poll(() => bodies.flatMap(({ data }) => data))
    .toContainEqual(expect.objectContaining({ actualManifest: expect.stringContaining('"name":"front"') }))
  const named = bodies.flatMap(({ fullState }) => fullState ?? []).filter(({ objects }) => objects !== undefined)
  expect(named).toMatchObject(named.map(() => ({ objects: [{ kind: 'Rollout', namespace: 'open', name: 'front' }] })))
  expect(named.flatMap(({ kinds = [] }) => kinds)).toEqual([])
})

test('a reporter that cannot read a namespace for minutes says so in every report, and sends no full state', async () => {
  await using scene = await openScene(['open', 'closed'])
  const { reporter, state, bodies, clock } = scene
  await expect.poll(() => bodies.flatMap(({ data }) => data)).toHaveLength(1)
  await expect.poll(scene.watching).toBe(1)
  expect(reporter.status().isBlind).toBe(false)
  clock.advance(300_001)
  expect(reporter.status().isBlind).toBe(true)
  scene.change(2)
  await expect.poll(() => bodies.at(-1)).toMatchObject({ data: [{}], reporter: { isBlind: true } })
  const before = bodies.length
  // The time may pass before the reporter has read the answer to its last report.
  const alive = (): number => {
    clock.advance(60_000)
    return bodies.length
  }
  await expect.poll(alive).toBeGreaterThan(before)
  scene.change(3)
  await expect.poll(() => bodies.slice(before).flatMap(({ data }) => data)).toHaveLength(1)
  for (const { reporter: said, fullState } of bodies.slice(before)) expect([said.isBlind, fullState]).toEqual([true, undefined])
  state.isClosed = false
  await expect.poll(() => bodies.at(-1)?.fullState, { timeout: 20_000 }).toBeDefined()
  expect(reporter.status().isBlind).toBe(false)
  expect(bodies.at(-1)?.reporter).not.toHaveProperty('isBlind')
}, 30_000)
