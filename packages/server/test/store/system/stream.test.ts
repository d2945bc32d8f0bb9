/** The event stream of a page on both databases: topics, rights, limits, replicas and cursors. */
import { nodeTransport, systemClock } from '@windlass/kit'
import { openClient, type ApiClient } from '@windlass/client'
import { MAX_UNREAD_LOG_BYTES, STREAM_EVENTS, type StreamEvent } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startServer, type ServerOptions } from '../../../src/index.ts'
import { retain } from '../../../src/retention.ts'
import { openHttpScene } from '../../support/http-scene.ts'
import { record } from '../../support/rows-read.ts'
import { DATABASES, type Database } from '../../support/stores.ts'

interface Opened extends AsyncDisposable {
  readonly events: StreamEvent[]
  /** Resolves with the first event that matches, also an earlier one. Throws after 20 seconds. */
  find(matches: (event: StreamEvent) => boolean): Promise<StreamEvent>
  /** Resolves when the server has ended the stream. */
  readonly over: Promise<void>
  /** `id` of the last event. */
  readonly cursor: () => string | undefined
}

/** Follows topics. Each event must have the shape of its name. */
function follow(client: ApiClient, topic: readonly string[], cursor?: string): Opened {
  const events: StreamEvent[] = []
  const stop = new AbortController()
  const waiting = new Set<() => void>()
  const over = (async () => {
    for await (const { event, data, id } of client.server.stream({ query: { topic: [...topic], cursor }, signal: stop.signal })) {
      const shape = STREAM_EVENTS[event as keyof typeof STREAM_EVENTS]
      events.push({ event, id, data: shape.parse(JSON.parse(data)) } as StreamEvent)
      for (const wake of waiting) wake()
    }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error
  })
  over.catch(() => undefined)
  return {
    events,
    over,
    cursor: () => events.at(-1)?.id,
    async find(matches) {
      const { promise, resolve } = Promise.withResolvers<StreamEvent>()
      const look = (): void => {
        const found = events.find(matches)
        if (found !== undefined) resolve(found)
      }
      waiting.add(look)
      look()
      const late = AbortSignal.timeout(20_000)
      const failed = new Promise<never>((_, reject) => {
        late.addEventListener('abort', () => reject(new Error(`not among ${JSON.stringify(events.map(({ event }) => event))}`)))
        over.then(() => look(), reject)
      })
      return Promise.race([promise, failed]).finally(() => waiting.delete(look))
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await over
    },
  }
}

/** Matches a build of the lists in a status. */
function inList(id: string, status: string) {
  return ({ event, data }: StreamEvent): boolean =>
    event === 'changed' && data.change.noun === 'build' && data.change.item.id === id && data.change.item.status === status
}

function textOf(events: readonly StreamEvent[]): string {
  return Buffer.concat(
    events.flatMap(({ event, data }) => (event === 'log' ? [Buffer.from(data.bytes, 'base64')] : [])),
  ).toString()
}

const isNamed =
  (name: StreamEvent['event'], topic?: string) =>
  ({ event, data }: StreamEvent): boolean =>
    event === name && (topic === undefined || ('topic' in data && data.topic === topic))

describe.each(DATABASES)('$name', ({ name, open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('a stream without a cursor shows what changes in the lists after it is open', async () => {
    await using scene = await openHttpScene(await database.fresh())
    const before = await scene.submit({ document: 'steps: 5' })
    await using page = follow(scene.admin, ['account'])
    await page.find(isNamed('counts'))
    const { build, engine } = await scene.start()
    await page.find(inList(build.id, 'running'))
    await engine.finish({ status: 'success' })
    await page.find(inList(build.id, 'success'))
    expect(page.events[0]).toMatchObject({ event: 'open' })
    const sent = page.events.flatMap(({ event, data }) =>
      event === 'changed' && data.change.noun === 'build' ? [data.change.item] : [],
    )
    // The list form is that of the list.
    expect(sent.findLast(({ id }) => id === build.id)).toEqual((await scene.admin.builds.list()).items[0])
    expect(sent.map(({ id }) => id)).not.toContain(before.id)
    await scene.admin.runtimes.create({ name: 'second', type: 'fake' })
    await page.find(
      ({ event, data }) => event === 'changed' && data.change.noun === 'runtime' && data.change.item.name === 'second',
    )
    await scene.admin.text('DELETE', '/v1/runtimes/second')
    await page.find(({ event, data }) => event === 'changed' && data.change.noun === 'gone' && data.change.of === 'runtime')
  })

  test('the cursor of a session starts a stream with what has changed since then', async () => {
    await using scene = await openHttpScene(await database.fresh())
    const before = await scene.start()
    await before.engine.finish({ status: 'success' })
    const { cursor } = await scene.nobody.sessions.create({ key: scene.adminToken })
    const { build, engine } = await scene.start()
    await engine.finish({ status: 'success' })
    await using page = follow(scene.admin, ['account'], cursor)
    await page.find(inList(build.id, 'success'))
    expect(page.events.map(({ event }) => event)).not.toContain('reset')
    const changed = page.events.flatMap(({ event, data }) =>
      event === 'changed' && data.change.noun === 'build' ? [data.change.item.id] : [],
    )
    expect(changed).not.toContain(before.build.id)
  })

  test('the events of a build arrive once and in order, with the sizes of its streams and its end', async () => {
    await using scene = await openHttpScene(await database.fresh())
    const { build, engine } = await scene.start()
    const key = `build:${build.id}`
    await using page = follow(scene.admin, [`${key}:0`])
    await engine.succeed()
    await page.find(isNamed('end', key))
    const items = page.events.flatMap(({ event, data }) => (event === 'event' ? [data.item] : []))
    const { items: all } = await scene.admin.builds.feed(build.id)
    expect(items).toEqual(all.filter(({ kind }) => kind === 'event'))
    const paged = []
    for (let after = 0, isRead = false; !isRead;) {
      const { items: some, next } = await scene.admin.builds.feed(build.id, { query: { after, limit: 2, logs: false } })
      paged.push(...some)
      isRead = some.length === 0
      after = next
    }
    expect(paged).toEqual(items)
    const sizes = new Map(
      page.events.flatMap(({ event, data }) =>
        event === 'heads' ? data.streams.map(({ stream, bytes, lines }) => [stream, [bytes, lines]] as const) : [],
      ),
    )
    const { items: streams } = await scene.admin.builds.logStreams(build.id)
    expect(sizes).toEqual(new Map(streams.map(({ stream, bytes, lines }) => [stream, [bytes, lines]])))
    expect(page.events.at(-1)).toMatchObject({ event: 'end', data: { status: 'success' } })
    expect(page.events.filter(isNamed('log'))).toEqual([])
  })

  test('a log continues at the cursor, also in a stream with other topics', async () => {
    await using scene = await openHttpScene(await database.fresh())
    const { build, engine } = await scene.start()
    const key = `log:${build.id}:1:step/hello`
    await engine.log('step/hello', 'one\n')
    let cursor: string | undefined
    {
      await using page = follow(scene.admin, [`${key}:0`])
      await page.find(() => textOf(page.events) === 'one\n')
      cursor = page.cursor()
    }
    await engine.log('step/hello', 'two\n')
    await using later = follow(scene.admin, [`${key}:0`, `build:${build.id}:0`], cursor)
    await later.find(isNamed('log'))
    await engine.finish({ status: 'success' })
    await later.find(isNamed('end', key))
    await later.find(isNamed('end', `build:${build.id}`))
    expect(textOf(later.events)).toBe('two\n')
    // A position in the topic that is later than that of the cursor counts.
    await using last = follow(scene.admin, [`${key}:6`], cursor)
    await last.find(isNamed('end', key))
    expect(textOf(last.events)).toBe('o\n')
  })

  test('a topic is not read because another one was woken', async () => {
    await using scene = await openHttpScene(await database.fresh())
    const { build, engine } = await scene.start()
    const other = await scene.submit()
    const quiet = Array.from({ length: 8 }, (_, index) => `log:${other.id}:1:step/s${index}:0`)
    await engine.log('step/hello', 'ready\n')
    await using page = follow(scene.admin, [...quiet, `log:${build.id}:1:step/hello:0`])
    await page.find(() => textOf(page.events) === 'ready\n')
    const began = systemClock.monotonic()
    const asked = await record(async () => {
      for (let n = 0; n < 10; n += 1) await engine.log('step/hello', 'x\n')
      await page.find(() => textOf(page.events) === `ready\n${'x\n'.repeat(10)}`)
    })
    const readsOf = (id: string) =>
      asked.filter(({ text, parameters }) => text.includes('"stream"') && parameters.includes(id)).length
    expect(readsOf(build.id)).toBeGreaterThan(0)
    // The poll of the store may be due once, and again on a machine that takes longer than its interval.
    const polls = 1 + Math.floor((systemClock.monotonic() - began) / scene.server.app.store.pollMs)
    expect(readsOf(other.id)).toBeLessThanOrEqual(quiet.length * polls)
  })

  test('a reader that is more than 1 MiB behind is told so, and continues near the end', async () => {
    await using scene = await openHttpScene(await database.fresh())
    const { build, engine } = await scene.start()
    const line = `${'x'.repeat(999)}\n`
    for (let n = 0; n < 3; n += 1) await engine.log('step/hello', line.repeat(400))
    const key = `log:${build.id}:1:step/hello`
    await using page = follow(scene.admin, [`${key}:0`])
    await page.find(
      ({ event, data }) => event === 'log' && data.offset + Buffer.from(data.bytes, 'base64').byteLength === 1_200_000,
    )
    const behind = page.events.find(isNamed('behind'))
    expect(behind).toMatchObject({ data: { from: 0 } })
    const to = behind?.event === 'behind' ? behind.data.to : 0
    expect(1_200_000 - to).toBeLessThan(MAX_UNREAD_LOG_BYTES)
    expect(textOf(page.events)).toBe(line.repeat(1_200).slice(to))
  })

  test('topics that do not exist or are not allowed are problems; the others continue', async () => {
    await using scene = await openHttpScene(await database.fresh())
    await scene.admin.projects.put('shop', { name: 'shop' })
    await scene.admin.users.create({ name: 'guest', kind: 'service-account', role: 'none', projects: { shop: 'viewer' } })
    const guest = scene.nobody.withToken((await scene.admin.keys.create({ name: 'g', owner: 'guest', role: 'admin' })).token)
    const build = await scene.submit()
    const missing = 'f'.repeat(24)
    await using page = follow(guest, ['account', `build:${build.id}:0`, `log:${missing}:1:system:0`])
    await page.find(isNamed('problem', `log:${missing}:1:system`))
    await page.find(isNamed('counts'))
    expect(page.events.filter(isNamed('problem'))).toMatchObject([
      { data: { topic: `build:${build.id}`, code: 'not-found' } },
      { data: { topic: `log:${missing}:1:system`, code: 'not-found' } },
    ])
    await scene.admin.pipelines.create({ name: 'shop/app', document: 'steps: []' })
    const own = await scene.submit({ pipeline: 'shop/app', document: undefined })
    await scene.admin.runtimes.create({ name: 'second', type: 'fake' })
    await page.find(inList(own.id, 'error'))
    const changes = page.events.flatMap(({ event, data }) => (event === 'changed' ? [data.change] : []))
    expect(new Set(changes.map(({ noun }) => noun))).toEqual(new Set(['build']))
    expect(page.events.findLast(isNamed('counts'))).toMatchObject({ data: { counts: { builds: {} } } })
  })

  test('a key without the scope cannot follow a terminal, and a person has a limited number of streams', async () => {
    await using scene = await openHttpScene({ ...(await database.fresh()), readerLimits: { perKey: 2 } })
    const { token } = await scene.admin.keys.create({ name: 'reader', scopes: ['build:read'] })
    const reader = scene.nobody.withToken(token)
    const build = await scene.submit()
    const topic = `terminal:${build.id}:${'a'.repeat(24)}`
    await using page = follow(reader, [`${topic}:0`])
    expect(await page.find(isNamed('problem', topic))).toMatchObject({ data: { code: 'scope-missing' } })
    await using second = follow(reader, ['account'])
    await second.find(isNamed('open'))
    await expect(follow(reader, ['account']).over).rejects.toMatchObject({ code: 'too-many-readers' })
  })

  test('an account that was not followed has no changes for an old cursor: the reader reads the lists again', async () => {
    await using scene = await openHttpScene(await database.fresh())
    await using page = follow(scene.admin, ['account'], '1000-0badcafe')
    await page.find(isNamed('reset'))
    const build = await scene.submit()
    await page.find(inList(build.id, 'elected'))
    await using invalid = follow(scene.admin, ['account', `build:${build.id}:0`], 'not a cursor')
    await invalid.find(isNamed('event'))
  })

  test('a reader that reconnects gets the changes of the meantime', async () => {
    await using scene = await openHttpScene(await database.fresh())
    let cursor: string | undefined
    {
      await using page = follow(scene.admin, ['account'])
      await page.find(isNamed('counts'))
      cursor = page.cursor()
    }
    const { build } = await scene.start()
    await using later = follow(scene.admin, ['account'], cursor)
    await later.find(inList(build.id, 'running'))
    expect(later.events.filter(isNamed('reset'))).toEqual([])
  })

  test('a log that has expired is a problem of its topic only', async () => {
    await using scene = await openHttpScene({ ...(await database.fresh()), retention: { logDays: 0 } })
    const { build, engine } = await scene.start()
    await engine.log('step/hello', 'one\n')
    await engine.finish({ status: 'success' })
    const { clock } = scene.server.app
    const endedAt = clock.now()
    while (clock.now() <= endedAt) await systemClock.sleep(1)
    await retain(scene.server.app)
    await using page = follow(scene.admin, [`log:${build.id}:1:step/hello:0`, `build:${build.id}:0`])
    await page.find(isNamed('end', `build:${build.id}`))
    expect(textOf(page.events)).toBe('')
  })

  test('the stream of a killed server continues at another one that has the same database', async () => {
    const options = await database.fresh()
    await using scene = await openHttpScene(options)
    const { build, engine } = await scene.start()
    const topics = ['account', `build:${build.id}:0`, `log:${build.id}:1:step/hello:0`]
    // SQLite belongs to one server: its next one is the same after a restart.
    const isShared = name === 'PostgreSQL'
    const other = isShared ? await startSecond(options) : undefined
    try {
      await engine.log('step/hello', 'one\n')
      const first = follow(scene.admin, topics)
      await first.find(() => textOf(first.events) === 'one\n')
      await first.find(isNamed('counts'))
      const second = other === undefined ? undefined : clientOf(other.url, scene.adminToken)
      await using elsewhere = second === undefined ? first : follow(second, ['account'])
      await elsewhere.find(isNamed('open'))
      // What one server writes, the streams of the other one show.
      const next = await scene.submit()
      await elsewhere.find(
        ({ event, data }) => event === 'changed' && data.change.noun === 'build' && data.change.item.id === next.id,
      )
      const cursor = first.cursor()
      if (second === undefined) return
      await scene.server.close()
      await first.over.catch(() => undefined)
      await using resumed = follow(second, topics, cursor)
      await second.builds.terminate(next.id)
      await resumed.find(inList(next.id, 'terminated'))
      expect(textOf(resumed.events)).toBe('')
      const seen = [first, resumed].flatMap(({ events }) =>
        events.flatMap(({ event, data }) => (event === 'event' ? [data.item.position] : [])),
      )
      expect(seen).toEqual(seen.toSorted((a, b) => a - b))
      expect(new Set(seen).size).toBe(seen.length)
    } finally {
      await other?.close()
    }
  })
})

function clientOf(url: string, token: string): ApiClient {
  return openClient({ url, token, transport: nodeTransport() })
}

async function startSecond(options: Pick<ServerOptions, 'dataDir' | 'databaseUrl'>) {
  return startServer({ minFreeShare: 0, ...options })
}
