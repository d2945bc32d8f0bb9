import { expect, onTestFinished, test } from 'vitest'
import { manualClock, type ManualClock } from '@windlass/kit'
import type { FakeCoordinator, FakeCoordinatorOptions } from '../../../../e2e/gitlab/support/fake-coordinator.ts'
import { openFeed, type Feed, type FeedLimits, type RunnerEntry } from './feed.ts'
import { Job } from '../job/payload.ts'
import type { JobRequestResult } from '../coordinator/job-request.ts'
import { advanceUntil, keptLog, openPair, turns } from '../../../../e2e/gitlab/support/coordinator-pair.ts'

interface Setup {
  readonly feed: Feed
  readonly clock: ManualClock
  /** Requests in order: the key of the entry and the time. */
  readonly polls: { readonly key: string; readonly at: number }[]
  /** Jobs that run, by ID. */
  readonly running: Map<number, () => void>
  /** Largest number of jobs that ran at the same time. */
  readonly most: () => number
  readonly started: { readonly key: string; readonly id: number }[]
  /** Jobs that had to wait for another one. */
  readonly queued: number[]
  readonly log: ReturnType<typeof keptLog>
}

type Ask = (
  key: string,
  call: { readonly lastUpdate: string | undefined; readonly signal: AbortSignal },
) => Promise<JobRequestResult>

const entry = (key: string, more: Partial<RunnerEntry> = {}): RunnerEntry => ({ key, limit: 0, requestConcurrency: 1, ...more })
const NONE: JobRequestResult = { outcome: 'none', pushedBack: false }

function open(ask: Ask, entries: readonly RunnerEntry[], limits: Partial<FeedLimits> = {}): Setup {
  const clock = manualClock()
  const log = keptLog()
  const polls: { key: string; at: number }[] = []
  const started: { key: string; id: number }[] = []
  const running = new Map<number, () => void>()
  const queued: number[] = []
  let most = 0
  const feed = openFeed({
    entries,
    concurrent: 10,
    checkIntervalMs: 3_000,
    ...limits,
    clock,
    log,
    request: (key, call) => {
      polls.push({ key, at: clock.monotonic() })
      return ask(key, call)
    },
    onQueued: ({ job }) => queued.push(job.id),
    async onJob({ key, job }) {
      started.push({ key, id: job.id })
      const ended = Promise.withResolvers<void>()
      running.set(job.id, ended.resolve)
      most = Math.max(most, running.size)
      await ended.promise
      running.delete(job.id)
    },
  })
  onTestFinished(() => feed.close())
  return { feed, clock, polls, running, most: () => most, started, queued, log }
}

/** Opens a feed whose entries all ask one fake coordinator. */
async function openWithFake(
  options: FakeCoordinatorOptions,
  entries: readonly RunnerEntry[],
  limits: Partial<FeedLimits> = {},
): Promise<Setup & { readonly fake: FakeCoordinator }> {
  const { fake, client } = await openPair(options)
  const ask: Ask = (key, call) => client.requestJob({ systemId: key, ...call })
  return { ...open(ask, entries, limits), fake }
}

function enqueue(fake: FakeCoordinator, count: number, from = 1): void {
  for (let id = from; id < from + count; id += 1) fake.enqueue({ id, token: `glcbt-${id}` })
}

/** Moves time in steps, with turns for pending I/O. */
async function pass(clock: ManualClock, ms: number, stepMs = 500): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(stepMs)
    await turns(3)
  }
}

test('spreads the polls of the entries over the interval (G014)', async () => {
  const { clock, polls } = open(async () => NONE, [entry('a'), entry('b')])
  await pass(clock, 9_000, 100)
  expect(polls.map(({ key }) => key).slice(0, 6)).toEqual(['a', 'b', 'a', 'b', 'a', 'b'])
  expect(polls.map(({ at }) => at).slice(0, 6)).toEqual([0, 1_500, 3_000, 4_500, 6_000, 7_500])
})

test('asks again at once after a job, unless the entry keeps to the interval (G015)', async () => {
  const greedy = await openWithFake({}, [entry('a')])
  enqueue(greedy.fake, 3)
  await expect.poll(() => greedy.started.length).toBe(3)
  const strict = await openWithFake({}, [entry('a', { strictCheckInterval: true })])
  enqueue(strict.fake, 3)
  await expect.poll(() => strict.started.length).toBe(1)
  await turns()
  expect(strict.started).toHaveLength(1)
  await advanceUntil(strict.clock, 500, () => strict.started.length === 3)
  expect(strict.polls.map(({ at }) => at)).toEqual([0, 3_000, 6_000])
})

test('never runs more jobs than `concurrent` and `limit` allow (G016)', async () => {
  const setup = await openWithFake({}, [entry('a', { limit: 2, requestConcurrency: 3 }), entry('b', { requestConcurrency: 3 })], {
    concurrent: 5,
  })
  const { fake, clock, running, started } = setup
  enqueue(fake, 20)
  let mostOfA = 0
  await advanceUntil(clock, 250, () => {
    mostOfA = Math.max(mostOfA, [...running.keys()].filter((id) => started.find((job) => job.id === id)?.key === 'a').length)
    const [first] = running.values()
    if (running.size === 5 || fake.waiting === 0) first?.()
    return started.length === 20 && running.size === 0
  })
  expect(setup.most()).toBe(5)
  expect(mostOfA).toBe(2)
  expect(started.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
})

test('makes at most `request_concurrency` requests of an entry at the same time', async () => {
  const { feed, clock } = open(
    (_, { signal }) => untilAbort(signal),
    [entry('a', { requestConcurrency: 3, isAdaptive: false }), entry('b', { requestConcurrency: 3 })],
  )
  await pass(clock, 30_000)
  expect(feed.state().map(({ key, requests }) => [key, requests])).toEqual([
    ['a', 3],
    ['b', 1],
  ])
})

test('jobs raise the number of requests, and a busy server lowers it', async () => {
  let id = 0
  let pushedBack = false
  const { feed, clock } = open(
    async () => (id < 10 ? jobResult((id += 1)) : { ...NONE, pushedBack }),
    [entry('a', { requestConcurrency: 4 })],
    { concurrent: 50 },
  )
  const limit = (): number | undefined => feed.state()[0]?.requestLimit
  await expect.poll(limit).toBe(3)
  pushedBack = true
  await advanceUntil(clock, 500, () => limit() === 1)
})

test('held requests of all entries wait at the same time, although only one job may run', async () => {
  const { fake, feed, clock, running, started } = await openWithFake({ holdMs: 600_000 }, [entry('a'), entry('b'), entry('c')], {
    concurrent: 1,
  })
  await advanceUntil(clock, 100, () => fake.held === 3)
  expect(feed.running()).toBe(0)
  enqueue(fake, 1)
  await expect.poll(() => started.length).toBe(1)
  // No slot is left, so the other requests are not held any longer, and none is made.
  await advanceUntil(clock, 500, () => fake.held === 0)
  enqueue(fake, 1, 2)
  await pass(clock, 10_000)
  expect(started).toHaveLength(1)
  running.get(1)?.()
  await expect.poll(() => started.length).toBe(2)
})

test('a job that arrives together with the one that takes the last slot waits until that one ends', async () => {
  const { fake, feed, clock, polls, running, started, queued } = await openWithFake(
    { holdMs: 600_000 },
    [entry('a'), entry('b')],
    { concurrent: 1 },
  )
  await advanceUntil(clock, 100, () => fake.held === 2)
  await pass(clock, 2_000)
  enqueue(fake, 3)
  await expect.poll(() => fake.waiting).toBe(1)
  const before = polls.length
  await pass(clock, 10_000)
  expect(polls.length).toBe(before)
  expect(started).toHaveLength(1)
  expect(queued).toHaveLength(1)
  const [first] = running.values()
  first?.()
  await expect.poll(() => started.length).toBe(2)
  expect(started[1]?.id).toBe(queued[0])
  await turns()
  expect(running.size).toBe(1)
  const drained = feed.drain()
  const [second] = running.values()
  second?.()
  await drained
  expect(started).toHaveLength(2)
})

test('close starts the jobs that wait for a slot, so that their owner can end them', async () => {
  const { fake, feed, clock, started } = await openWithFake({ holdMs: 600_000 }, [entry('a'), entry('b')], { concurrent: 1 })
  await advanceUntil(clock, 100, () => fake.held === 2)
  await pass(clock, 2_000)
  enqueue(fake, 2)
  await expect.poll(() => fake.waiting).toBe(0)
  await expect.poll(() => started.length).toBe(1)
  await turns()
  await feed.close()
  await expect.poll(() => started.length).toBe(2)
})

test('a request that the server holds ends with its answer, and the next one follows at the turn of the entry (G010)', async () => {
  let answer = Promise.withResolvers<JobRequestResult>()
  const { feed, clock, polls } = open((_, { signal }) => Promise.race([answer.promise, untilAbort(signal)]), [entry('a')])
  await pass(clock, 50_000)
  expect(polls).toHaveLength(1)
  const held = answer
  answer = Promise.withResolvers()
  held.resolve(NONE)
  await advanceUntil(clock, 500, () => polls.length === 2)
  expect((polls[1]?.at ?? 0) - 50_000).toBeLessThanOrEqual(6_000)
  expect(feed.state()[0]?.isPaused).toBe(false)
})

test('an entry is paused after three refusals, and after the pause one more refusal is enough (G011)', async () => {
  const { feed, clock, polls, log } = open(
    async () => ({ outcome: 'forbidden', pushedBack: false }),
    [entry('a', { unhealthyIntervalMs: 5_000 })],
  )
  await pass(clock, 6_100, 100)
  expect(polls).toHaveLength(3)
  expect(feed.state()[0]?.isPaused).toBe(true)
  expect(log.lines.at(-1)?.message).toContain('refuses the token')
  await pass(clock, 10_000, 100)
  expect(polls.map(({ at }) => at)).toEqual([0, 3_000, 6_000, 12_000])
})

test('an entry whose server is down is asked again within two minutes', async () => {
  let isUp = false
  const { clock, polls } = open(async () => (isUp ? NONE : { outcome: 'failed', pushedBack: false }), [entry('a')])
  await pass(clock, 60 * 60_000, 3_000)
  expect(polls.length).toBeLessThan(80)
  isUp = true
  const before = polls.length
  await pass(clock, 130_000, 1_000)
  expect(polls.length).toBeGreaterThan(before)
  const later = polls.length
  await pass(clock, 30_000, 1_000)
  expect(polls.length).toBeGreaterThanOrEqual(later + 9)
})

test('an entry whose server is in maintenance is not paused', async () => {
  const { clock, polls } = open(async () => ({ outcome: 'maintenance', pushedBack: true }), [entry('a')])
  await pass(clock, 30_000)
  expect(polls.length).toBeGreaterThanOrEqual(10)
})

test('a request that fails with an error counts as a failure', async () => {
  const { feed, log } = open(async () => Promise.reject(new Error('no client')), [entry('a')])
  await expect.poll(() => feed.state()[0]?.isPaused).toBe(true)
  expect(log.lines[0]?.message).toBe('the request for a job failed')
})

test('sends back the last update of each entry', async () => {
  const seen: (string | undefined)[] = []
  const { clock } = open(
    async (key, { lastUpdate }) => {
      seen.push(lastUpdate)
      return { ...NONE, ...(seen.length === 1 && { lastUpdate: `from-${key}` }) }
    },
    [entry('a')],
  )
  await advanceUntil(clock, 500, () => seen.length === 3)
  expect(seen).toEqual([undefined, 'from-a', 'from-a'])
})

test('takes new entries and limits while jobs run', async () => {
  const { fake, feed, clock, started, running } = await openWithFake({}, [entry('a')], { concurrent: 1 })
  enqueue(fake, 4)
  await expect.poll(() => started.length).toBe(1)
  feed.setEntries([entry('a', { limit: 1 }), entry('b')], { concurrent: 3 })
  await advanceUntil(clock, 500, () => started.length === 3)
  expect(started.map(({ key }) => key)).toEqual(['a', 'b', 'b'])
  feed.setEntries([entry('b')])
  expect(
    feed
      .state()
      .map(({ key }) => key)
      .toSorted(),
  ).toEqual(['a', 'b'])
  running.get(1)?.()
  await expect.poll(() => started.length).toBe(4)
  expect(started.at(-1)?.key).toBe('b')
  expect(feed.state().map(({ key }) => key)).toEqual(['b'])
})

test('a removed entry is not asked anymore, and its held request ends', async () => {
  const { feed, clock, polls } = open((_, { signal }) => untilAbort(signal), [entry('a'), entry('b')])
  await pass(clock, 5_000)
  feed.setEntries([entry('b')])
  await expect.poll(() => feed.state().map(({ key }) => key)).toEqual(['b'])
  await pass(clock, 10_000)
  expect(polls).toHaveLength(2)
})

test('an adopted job occupies a slot until it is freed', async () => {
  const { feed, clock, polls } = open(async () => NONE, [entry('a', { limit: 1 }), entry('b')], { concurrent: 2 })
  const freeA = feed.occupy('a')
  const freeGone = feed.occupy('gone')
  polls.length = 0
  await pass(clock, 10_000)
  expect(polls).toEqual([])
  freeGone()
  freeGone()
  await pass(clock, 10_000)
  expect(new Set(polls.map(({ key }) => key))).toEqual(new Set(['b']))
  freeA()
  expect(feed.running()).toBe(0)
  await pass(clock, 10_000)
  expect(new Set(polls.map(({ key }) => key))).toEqual(new Set(['a', 'b']))
})

test('a paused feed asks for nothing, and drains when its jobs have ended', async () => {
  const { fake, feed, clock, started, running, polls } = await openWithFake({}, [entry('a')])
  enqueue(fake, 1)
  await expect.poll(() => started.length).toBe(1)
  let isDrained = false
  const drained = feed.drain().then(() => {
    isDrained = true
  })
  const before = polls.length
  await pass(clock, 10_000)
  expect(polls.length).toBe(before)
  expect(isDrained).toBe(false)
  running.get(1)?.()
  await drained
  feed.resume()
  await advanceUntil(clock, 500, () => polls.length > before)
})

test('a pause ends held requests', async () => {
  const { fake, feed, clock } = await openWithFake({ holdMs: 600_000 }, [entry('a')])
  await advanceUntil(clock, 100, () => fake.held === 1)
  await pass(clock, 1_500, 100)
  await feed.drain()
  await expect.poll(() => fake.held).toBe(0)
})

test('close aborts all requests and does not wait for jobs', async () => {
  const { fake, feed, started } = await openWithFake({ holdMs: 600_000 }, [entry('a')])
  enqueue(fake, 1)
  await expect.poll(() => started.length).toBe(1)
  await expect.poll(() => fake.held).toBe(1)
  await feed.close()
  await expect.poll(() => fake.held).toBe(0)
  expect(feed.running()).toBe(1)
})

test('a job that ends with an error frees its slot', async () => {
  const log = keptLog()
  let id = 0
  const feed = openFeed({
    entries: [entry('a')],
    concurrent: 1,
    checkIntervalMs: 3_000,
    clock: manualClock(),
    log,
    request: async () => ((id += 1) <= 2 ? jobResult(id) : NONE),
    onJob: async () => Promise.reject(new Error('broken')),
  })
  onTestFinished(() => feed.close())
  await expect.poll(() => log.lines.map(({ fields }) => fields['job'])).toEqual([1, 2])
  expect(feed.running()).toBe(0)
})

function jobResult(id: number): JobRequestResult {
  return { outcome: 'job', job: Job.parse({ id, token: `glcbt-${id}` }), pushedBack: false }
}

function untilAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

test('a feed whose loop does not continue is late by a minute, and a closed one is not', async () => {
  const { feed, clock } = open(async () => NONE, [entry('a')], { checkIntervalMs: 120_000 })
  clock.advance(119_000)
  expect(feed.isTurning()).toBe(true)
  clock.advance(1_000)
  await turns()
  clock.advance(119_000)
  expect(feed.isTurning()).toBe(true)
  const { promise: never } = Promise.withResolvers<void>()
  const stuck = openFeed({
    entries: [],
    concurrent: 1,
    checkIntervalMs: 3_000,
    clock: { ...clock, sleep: () => never },
    log: keptLog(),
    request: async () => NONE,
    onJob: async () => undefined,
  })
  clock.advance(62_000)
  expect(stuck.isTurning()).toBe(true)
  clock.advance(1_000)
  expect(stuck.isTurning()).toBe(false)
  void stuck.close()
  expect(stuck.isTurning()).toBe(true)
})
