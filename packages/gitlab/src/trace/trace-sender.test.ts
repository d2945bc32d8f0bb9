import { ftruncateSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { traceChecksum } from '../../../../e2e/gitlab/support/fake-jobs.ts'
import type {
  FakeCoordinator,
  FakeCoordinatorOptions,
  FakeJob,
  Prepared,
} from '../../../../e2e/gitlab/support/fake-coordinator.ts'
import { finalDelayMs } from './final-update.ts'
import {
  advanceUntil,
  countingClock,
  openPair,
  turns,
  type CountingClock,
  type LogLine,
} from '../../../../e2e/gitlab/support/coordinator-pair.ts'
import { openTraceSender, type TraceSender, type TraceSenderOptions } from './trace-sender.ts'

interface Setup {
  readonly fake: FakeCoordinator
  readonly job: FakeJob
  readonly sender: TraceSender
  readonly clock: CountingClock
  /** What the sender told its job. */
  readonly calls: string[]
  readonly log: { readonly lines: readonly LogLine[] }
}

/** Returns the target of a link; empty if it is gone. */
function readLinkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

async function open(options: FakeCoordinatorOptions & { readonly sender?: Partial<TraceSenderOptions> } = {}): Promise<Setup> {
  const clock = countingClock()
  const { fake, client, log } = await openPair({ ...options, clock })
  const job = fake.enqueue({ id: 5, token: 'glcbt-five' })
  const folder = mkdtempSync(join(tmpdir(), 'windlass-sender-'))
  const calls: string[] = []
  const sender = openTraceSender({
    coordinator: client,
    jobId: 5,
    jobToken: 'glcbt-five',
    folder,
    supportedReasons: [],
    clock,
    log,
    onCanceling: () => void calls.push('canceling'),
    onAbort: (reason) => void calls.push(`abort: ${reason}`),
    ...options.sender,
  })
  onTestFinished(async () => {
    await sender.close()
    rmSync(folder, { recursive: true })
  })
  return { fake, job, sender, clock, calls, log }
}

/** Appends one chunk after the other. After each, time passes and pending I/O has its turns. */
async function appendAll(
  { sender, clock }: Setup,
  chunks: readonly Uint8Array[],
  { everyMs, ioTurns }: { readonly everyMs: number; readonly ioTurns: number },
): Promise<void> {
  for (const chunk of chunks) {
    sender.append(chunk)
    clock.advance(everyMs)
    await turns(ioTurns)
  }
}

/** Ends the job, and advances the clock until its end is delivered. */
async function finish(
  { sender, clock }: Pick<Setup, 'sender' | 'clock'>,
  end: Parameters<TraceSender['finish']>[0],
  stepMs = 500,
): Promise<unknown> {
  let delivery: unknown
  void sender.finish(end).then((result) => {
    delivery = result
  })
  await advanceUntil(clock, stepMs, () => delivery !== undefined)
  return delivery
}

const MIB = 1024 * 1024
const ranges = (fake: FakeCoordinator): unknown[] => fake.of('trace').map(({ headers }) => headers['content-range'])

test('sends contiguous patches, and the final state with checksum and size (G019)', async () => {
  const setup = await open()
  const { fake, job, sender, clock } = setup
  sender.append(Buffer.from('first line\n'))
  await advanceUntil(clock, 100, () => job.trace.length > 0)
  sender.append(Buffer.from('second line\n'))
  await advanceUntil(clock, 100, () => job.trace.length > 11)
  sender.append(Buffer.from('end\n'))
  expect(await finish(setup, { state: 'failed', failureReason: 'script_failure', exitCode: 42 })).toEqual({ type: 'delivered' })
  expect(ranges(fake)).toEqual(['0-10', '11-22', '23-26'])
  expect(job.trace.toString()).toBe('first line\nsecond line\nend\n')
  expect(job.final).toEqual({
    state: 'failed',
    failureReason: 'script_failure',
    exitCode: 42,
    checksum: traceChecksum(job.trace),
    bytes: 27,
  })
  expect(fake.of('update').at(-1)?.json).toMatchObject({ checksum: traceChecksum(job.trace), info: { executor: 'kubernetes' } })
  expect(job.violations).toEqual([])
})

test('any cut of the trace into chunks arrives as the same bytes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }), async (chunks) => {
      const setup = await open()
      await appendAll(setup, chunks, { everyMs: 2_000, ioTurns: 3 })
      expect(await finish(setup, { state: 'success' })).toEqual({ type: 'delivered' })
      expect(Buffer.compare(setup.job.trace, Buffer.concat(chunks))).toBe(0)
      expect(setup.job.violations).toEqual([])
    }),
    { numRuns: 10 },
  )
})

test('does not wait for the interval if a whole patch is waiting, and sends at most 1 MiB at a time', async () => {
  const { fake, job, sender } = await open()
  await turns(5)
  sender.append(Buffer.alloc(2 * MIB + 10, 'x'))
  await expect.poll(() => job.trace.length).toBe(2 * MIB)
  expect(ranges(fake)).toEqual([`0-${MIB - 1}`, `${MIB}-${2 * MIB - 1}`])
})

test('continues where the server says that its trace ends (G020)', async () => {
  const { fake, job, sender, clock } = await open()
  sender.append(Buffer.from('0123456789'))
  await advanceUntil(clock, 100, () => job.trace.length === 10)
  job.trace = job.trace.subarray(0, 4)
  sender.append(Buffer.from('abc'))
  await advanceUntil(clock, 100, () => job.trace.length === 13)
  expect(job.trace.toString()).toBe('0123456789abc')
  expect(ranges(fake)).toEqual(['0-9', '10-12', '4-12'])
})

test('a new sender of a job that has a trace continues after what the server has', async () => {
  const setup = await open()
  const { fake, job, sender, clock } = setup
  job.trace = Buffer.from('0123456789')
  sender.append(Buffer.from('0123'))
  await advanceUntil(clock, 100, () => fake.of('trace').length === 1)
  sender.append(Buffer.from('456789ab'))
  await advanceUntil(clock, 100, () => job.trace.length === 12)
  expect(ranges(fake)).toEqual(['0-3', '10-11'])
  expect(await finish(setup, { state: 'success' })).toEqual({ type: 'delivered' })
})

test('uses the interval that the server asks for (G021)', async () => {
  const { fake, sender, clock } = await open({ updateInterval: 10 })
  sender.append(Buffer.from('a'))
  await advanceUntil(clock, 100, () => fake.of('trace').length === 1)
  await turns()
  sender.append(Buffer.from('b'))
  for (let ms = 0; ms < 9_000; ms += 1_000) {
    clock.advance(1_000)
    await turns(3)
  }
  expect(fake.of('trace')).toHaveLength(1)
  await advanceUntil(clock, 100, () => fake.of('trace').length === 2)
})

test('sends the state of a silent job after 30 s (G024)', async () => {
  const { fake, job, sender, clock } = await open()
  sender.append(Buffer.from('hello'))
  await advanceUntil(clock, 100, () => fake.of('trace').length === 1)
  await turns()
  for (let ms = 0; ms < 27_000; ms += 3_000) {
    clock.advance(3_000)
    await turns(5)
  }
  expect(job.updates).toEqual([])
  await advanceUntil(clock, 1_000, () => job.updates.length === 2)
  expect(job.updates[0]).toMatchObject({ state: 'running', checksum: traceChecksum(job.trace), bytes: 5 })
  expect(fake.of('trace')).toHaveLength(1)
})

test('tells the job once that it is being canceled, and continues to send', async () => {
  const setup = await open()
  const { job, sender, clock, calls } = setup
  job.status = 'canceling'
  sender.append(Buffer.from('a'))
  await advanceUntil(clock, 100, () => calls.length > 0)
  sender.append(Buffer.from('b'))
  await advanceUntil(clock, 100, () => job.trace.length === 2)
  expect(calls).toEqual(['canceling'])
  expect(await finish(setup, { state: 'failed', failureReason: 'job_canceled' })).toEqual({ type: 'delivered' })
})

test.each([
  ['canceled', { status: 202, headers: { 'job-status': 'canceled' } }],
  ['failed', { status: 202, headers: { 'job-status': 'failed' } }],
  ['forbidden', { status: 403, body: { message: '403 Forbidden' } }],
])('stops and aborts the job if it is %s', async (reason, answer) => {
  const setup = await open()
  const { fake, sender, clock, calls } = setup
  fake.next('trace', answer)
  sender.append(Buffer.from('a'))
  await advanceUntil(clock, 100, () => calls.length > 0)
  sender.append(Buffer.from('more'))
  expect(await finish(setup, { state: 'success' })).toEqual({ type: 'aborted', reason })
  expect(calls).toEqual([`abort: ${reason}`])
  expect(fake.requests).toHaveLength(1)
})

test('a silent job learns that it was canceled', async () => {
  const { fake, clock, calls } = await open()
  fake.next('update', { status: 200, headers: { 'job-status': 'canceled' } })
  await advanceUntil(clock, 1_000, () => calls.length > 0)
  expect(calls).toEqual(['abort: canceled'])
})

test('a job that does not exist anymore is aborted', async () => {
  const { fake, sender, clock, calls } = await open()
  fake.next('trace', { status: 404, body: { message: '404 Not found' } })
  fake.next('update', { status: 404, body: { message: '404 Not found' } })
  sender.append(Buffer.from('a'))
  await advanceUntil(clock, 100, () => calls.length > 0)
  expect(calls).toEqual(['abort: gone'])
})

test('repeats the final update while the server checks the trace, and sends the whole trace again if it asks (G025)', async () => {
  const setup = await open()
  const { fake, job, sender, clock } = setup
  sender.append(Buffer.from('0123456789'))
  await advanceUntil(clock, 100, () => job.trace.length === 10)
  // The server lost bytes without saying so: the checksum does not match.
  job.trace = Buffer.from('01234xxxxx')
  fake.next('update', { status: 202 }, { status: 202 })
  expect(await finish(setup, { state: 'success' })).toEqual({ type: 'delivered' })
  expect(fake.of('update')).toHaveLength(4)
  expect(ranges(fake)).toEqual(['0-9', '0-9'])
  expect(job.trace.toString()).toBe('0123456789')
  expect(job.final).toMatchObject({ state: 'success' })
})

test('gives up if the server never accepts the trace', async () => {
  const setup = await open({ sender: { finalRetryLimit: 2 } })
  setup.fake.next('update', ...Array<{ status: number }>(5).fill({ status: 412 }))
  setup.sender.append(Buffer.from('a'))
  expect(await finish(setup, { state: 'success' })).toMatchObject({ type: 'given-up' })
  expect(setup.fake.of('update')).toHaveLength(3)
})

test('a server that is down for ten minutes gets the whole trace and the final state afterwards', async () => {
  const setup = await open()
  const { fake, job, sender, clock, calls } = setup
  sender.append(Buffer.from('before\n'))
  await advanceUntil(clock, 100, () => job.trace.length > 0)
  await fake.down()
  const started = clock.monotonic()
  while (clock.monotonic() - started < 10 * 60_000) {
    if (sender.size < 500) sender.append(Buffer.from('during\n'))
    clock.advance(3_000)
    await turns(2)
  }
  await fake.up()
  await advanceUntil(clock, 1_000, () => job.trace.length === sender.size)
  expect(await finish(setup, { state: 'success' })).toEqual({ type: 'delivered' })
  expect(job.trace.toString()).toBe(`before\n${'during\n'.repeat(71)}`)
  expect(calls).toEqual([])
})

test('a server that is down for ten minutes at the end of the job gets the final state afterwards', async () => {
  const setup = await open()
  const { fake, job, sender, clock } = setup
  sender.append(Buffer.from('line\n'))
  await fake.down()
  let delivery: unknown
  void sender.finish({ state: 'success' }).then((result) => {
    delivery = result
  })
  await turns(20)
  const started = clock.monotonic()
  while (clock.monotonic() - started < 10 * 60_000) {
    clock.advance(3_000)
    await turns(2)
  }
  expect(delivery).toBeUndefined()
  await fake.up()
  await advanceUntil(clock, 1_000, () => delivery !== undefined)
  expect(delivery).toEqual({ type: 'delivered' })
  expect(job.final).toMatchObject({ state: 'success' })
  // The retries of the default last for more than a quarter of an hour.
  const total = Array.from({ length: 10 }, (_, n) => finalDelayMs(n + 1)).reduce((sum, ms) => sum + ms, 0)
  expect(total).toBeGreaterThan(15 * 60_000)
})

test('gives up after the retries', async () => {
  const setup = await open({ sender: { finalRetryLimit: 2 } })
  await setup.fake.down()
  expect(await finish(setup, { state: 'success' })).toMatchObject({
    type: 'given-up',
    reason: expect.stringContaining('does not answer'),
  })
})

test.each([
  ['the connection broke', ['break-after' as const]],
  ['a proxy answered', [{ status: 504 }, { status: 403, body: { message: '403 Forbidden' } }]],
])('a final update that is refused after %s counts as delivered', async (_, answers) => {
  const setup = await open()
  setup.fake.next('update', ...answers)
  expect(await finish(setup, { state: 'success' })).toEqual({ type: 'delivered' })
  expect(setup.job.violations).toEqual([])
})

test('a final update that is refused at once is not delivered', async () => {
  const setup = await open()
  setup.fake.next('update', { status: 403, body: { message: '403 Forbidden' } })
  expect(await finish(setup, { state: 'success' })).toEqual({ type: 'aborted', reason: 'forbidden' })
  expect(setup.calls).toEqual([])
})

test('sends the final state although the server does not take the trace anymore', async () => {
  const setup = await open()
  setup.job.checksTrace = false
  setup.fake.next('trace', { status: 404, body: { message: '404 Not found' } })
  setup.sender.append(Buffer.from('a'))
  expect(await finish(setup, { state: 'success' })).toEqual({ type: 'delivered' })
})

test.each([
  [42, 42],
  [4_294_967_295, -1],
])('sends the exit code of the script as a 32-bit number: %i as %i (G028)', async (exitCode, sent) => {
  const setup = await open()
  await finish(setup, { state: 'failed', failureReason: 'script_failure', exitCode })
  expect(setup.job.final).toMatchObject({ state: 'failed', failureReason: 'script_failure', exitCode: sent })
})

test('maps the reason by those that the job lists', async () => {
  const setup = await open({ sender: { supportedReasons: ['image_pull_failure'] } })
  await finish(setup, { state: 'failed', failureReason: 'image_pull_failure' })
  expect(setup.job.final?.failureReason).toBe('image_pull_failure')
  const older = await open()
  await finish(older, { state: 'failed', failureReason: 'image_pull_failure' })
  expect(older.job.final?.failureReason).toBe('runner_system_failure')
})

test('a server that names one size after the other is not sent the same bytes without a pause', async () => {
  const { fake, sender, clock } = await open()
  const sizes = Array.from({ length: 200 }, (_, n): Prepared => ({ status: 416, headers: { range: `0-${n % 2}` } }))
  fake.next('trace', ...sizes)
  sender.append(Buffer.alloc(2 * 1024 * 1024, 'a'))
  await advanceUntil(clock, 1_000, () => fake.of('trace').length >= 2)
  const startedAt = clock.monotonic()
  await advanceUntil(clock, 1_000, () => fake.of('trace').length >= 6)
  expect(clock.monotonic() - startedAt).toBeGreaterThanOrEqual(9_000)
})

test('a refusal by a proxy ends nothing', async () => {
  const { fake, job, sender, clock, calls } = await open()
  const page: Prepared = { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>default backend</html>' }
  fake.next('trace', page, { ...page, status: 403 })
  sender.append(Buffer.from('a'))
  await advanceUntil(clock, 1_000, () => job.trace.toString() === 'a')
  fake.next('update', page, { ...page, status: 403 })
  expect(await finish({ sender, clock }, { state: 'success' })).toEqual({ type: 'delivered' })
  expect(calls).toEqual([])
  expect(job.final?.state).toBe('success')
})

test('a long wait that the server asks for does not delay the end of the job', async () => {
  const setup = await open()
  setup.fake.next('trace', { status: 429, headers: { 'retry-after': '600' } })
  setup.sender.append(Buffer.from('a'))
  const startedAt = setup.clock.monotonic()
  expect(await finish(setup, { state: 'success' })).toEqual({ type: 'delivered' })
  expect(setup.clock.monotonic() - startedAt).toBeLessThan(60_000)
})

test('a spool that cannot be read any more does not end the job, and its state is still sent', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-unreadable-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const setup = await open({ sender: { folder } })
  setup.sender.append(Buffer.from('lost'))
  // The file has no name: it is found by its descriptor, and cut.
  for (const name of readdirSync('/proc/self/fd')) {
    const target = readLinkOf(`/proc/self/fd/${name}`)
    if (target.startsWith(folder)) ftruncateSync(Number(name))
  }
  await advanceUntil(setup.clock, 1_000, () => setup.fake.of('update').length > 0)
  expect(setup.calls).toEqual([])
  setup.job.checksTrace = false
  expect(await finish(setup, { state: 'success' })).toEqual({ type: 'delivered' })
  expect(setup.job.final?.state).toBe('success')
  expect(setup.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1)
})

test('close sends no final state', async () => {
  const { fake, sender } = await open()
  sender.append(Buffer.from('a'))
  await sender.close()
  expect(await sender.finish({ state: 'success' })).toEqual({ type: 'aborted', reason: 'closed' })
  expect(fake.of('update')).toEqual([])
})

/** Answers of a bad network and a busy server, to patches and updates. */
const TROUBLE: readonly Prepared[] = [
  'break',
  'break-after',
  { status: 502 },
  { status: 500 },
  { status: 429 },
  { status: 416, headers: { range: '0-0' } },
]
const UPDATE_TROUBLE: readonly Prepared[] = [
  'break',
  'break-after',
  { status: 202 },
  { status: 412 },
  { status: 503 },
  { status: 429 },
]

test('delivers the same bytes whatever happens to single requests', async () => {
  const answers = (of: readonly Prepared[]): fc.Arbitrary<Prepared[]> => fc.array(fc.constantFrom(...of), { maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(
      answers(TROUBLE),
      answers(UPDATE_TROUBLE),
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 100 }), { maxLength: 5 }),
      async (trace, update, chunks) => {
        const setup = await open()
        setup.fake.next('trace', ...trace)
        setup.fake.next('update', ...update)
        await appendAll(setup, chunks, { everyMs: 3_000, ioTurns: 5 })
        expect(await finish(setup, { state: 'success' })).toEqual({ type: 'delivered' })
        expect(Buffer.compare(setup.job.trace, Buffer.concat(chunks))).toBe(0)
        expect(setup.job.final).toMatchObject({ state: 'success' })
        expect(setup.job.violations).toEqual([])
        expect(setup.calls).toEqual([])
      },
    ),
    { numRuns: 30 },
  )
})
