import { manualClock, silentLog, type Logger, type ManualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openStartLimit, type PendingStart, type StartLimit } from './start-limit.ts'

const signal = new AbortController().signal

interface Scene {
  readonly starts: StartLimit
  readonly clock: ManualClock
  /** Keys of the starts that have begun, in order. */
  readonly begun: string[]
  readonly messages: string[]
  /** Asks for the start of an attempt, unless another signal is given without an end. */
  begin(key: string, more?: Partial<PendingStart>, stop?: AbortSignal): Promise<void>
}

function openScene({ synced = true, log = silentLog }: { readonly synced?: boolean; readonly log?: Logger } = {}): Scene {
  const clock = manualClock()
  const starts = openStartLimit({ clock, log })
  if (synced) starts.synced()
  const begun: string[] = []
  const messages: string[] = []
  const fixed = { nodeGroup: '', isWarm: false, limit: 1, pods: 1, onWait: (message: string) => void messages.push(message) }
  return {
    starts,
    clock,
    begun,
    messages,
    async begin(key, more = {}, stop = signal) {
      await starts.begin({ ...fixed, key, taskId: key, ...more }, stop)
      begun.push(key)
    },
  }
}

/** Lets everything happen that needs no time. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const pod = (state: 'starting' | 'running' | 'waiting' | 'lost' | undefined, uid = 'dind') => ({ uid, nodeGroup: '', state })

test('the next start begins when the pods of the first run', async () => {
  const { starts, begin, begun } = openScene()
  await begin('a')
  void begin('b')
  starts.see('a', pod('starting'))
  starts.end('a', 'created')
  await settle()
  expect(begun).toEqual(['a'])
  starts.see('a', pod('running'))
  await settle()
  expect(begun).toEqual(['a', 'b'])
})

test('a start whose pods are created but not seen yet keeps its place', async () => {
  const { starts, begin, begun } = openScene()
  await begin('a', { pods: 2 })
  starts.see('a', pod('running'))
  starts.end('a', 'created')
  void begin('b')
  await settle()
  expect(begun).toEqual(['a'])
})

test.each([
  ['its pod has no room', (starts: StartLimit) => starts.see('a', pod('waiting'))],
  ['its pod ended', (starts: StartLimit) => starts.see('a', pod('lost'))],
  ['its disk is late', (starts: StartLimit) => starts.stall('a')],
  ['it cannot be created', (starts: StartLimit) => starts.end('a', 'failed')],
  ['it is removed', (starts: StartLimit) => starts.forget('a')],
])('a start gives its place back when %s', async (_, happens) => {
  const { starts, begin, begun } = openScene()
  await begin('a')
  void begin('b')
  await settle()
  expect(begun).toEqual(['a'])
  happens(starts)
  await settle()
  expect(begun).toEqual(['a', 'b'])
})

test('a start that hangs gives its place back after a minute', async () => {
  const { clock, begin, begun } = openScene()
  await begin('a')
  void begin('b')
  await settle()
  for (let at = 0; at < 59_500; at += 500) {
    clock.advance(500)
    await settle()
  }
  expect(begun).toEqual(['a'])
  clock.advance(500)
  await settle()
  expect(begun).toEqual(['a', 'b'])
})

test('created starts whose pods are not seen count for ten seconds, and are reported once', async () => {
  const warnings: unknown[] = []
  const log: Logger = silentLog.child({})
  log.warn = (fields: unknown) => void warnings.push(fields)
  const { starts, clock, begin, begun } = openScene({ log })
  const pass = async (ms: number): Promise<void> => {
    for (let at = 0; at < ms; at += 500) {
      clock.advance(500)
      await settle()
    }
  }
  for (const key of ['a', 'b', 'c', 'd']) void begin(key, { pods: 2 }).then(() => starts.end(key, 'created'))
  await settle()
  await pass(9_500)
  expect([begun, warnings]).toEqual([['a'], []])
  await pass(500)
  expect(begun).toEqual(['a', 'b'])
  await pass(22_000)
  expect(begun).toEqual(['a', 'b', 'c', 'd'])
  expect(warnings).toEqual([{ hint: expect.stringContaining('list and watch pods') }])
})

test('a waiting start uses the limit of the nodes that there are now', async () => {
  const { clock, begin, begun } = openScene()
  await begin('a')
  let limit = 1
  const readLimit = async (): Promise<number> => limit
  void begin('b', { readLimit })
  void begin('c', { readLimit })
  limit = 2
  for (let at = 0; at < 12_000; at += 500) {
    clock.advance(500)
    await settle()
  }
  expect(begun).toEqual(['a', 'b'])
})

test('a start that got room after a wait takes a place again', async () => {
  const { starts, begin, begun } = openScene()
  await begin('a')
  starts.see('a', pod('waiting'))
  starts.see('a', pod('starting'))
  void begin('b')
  await settle()
  expect(begun).toEqual(['a'])
})

test('the end of a replaced pod does not hide its successor', async () => {
  const { starts, begin, begun } = openScene()
  await begin('a')
  starts.see('a', pod('starting', 'old'))
  starts.end('a', 'created')
  starts.see('a', pod('starting', 'new'))
  starts.see('a', pod(undefined, 'old'))
  void begin('b')
  await settle()
  expect(begun).toEqual(['a'])
  starts.see('a', pod('running', 'new'))
  await settle()
  expect(begun).toEqual(['a', 'b'])
})

test('a start that is withdrawn does not end the wait of the others for the list of pods', async () => {
  const { starts, begin, begun } = openScene({ synced: false })
  const stop = new AbortController()
  const withdrawn = begin('a', {}, stop.signal)
  const other = begin('b', { pods: 2 })
  stop.abort()
  await expect(withdrawn).rejects.toThrow()
  await settle()
  void begin('c')
  await settle()
  expect(begun).toEqual([])
  starts.synced()
  await other
  expect(begun).toEqual(['b'])
})

test('a new process counts the starts of the earlier one, and does not let an attempt with pods wait', async () => {
  const { starts, clock, begin, begun } = openScene({ synced: false })
  const all = [begin('b'), begin('a')]
  await settle()
  expect(begun).toEqual([])
  starts.see('a', pod('starting'))
  starts.synced()
  await settle()
  expect(begun).toEqual(['a'])
  starts.end('a', 'created')
  starts.see('a', pod('running'))
  await Promise.all(all)
  expect(begun).toEqual(['a', 'b'])
  expect(clock.monotonic()).toBe(0)
})

test('starts do not wait forever for the existing pods', async () => {
  const { clock, begin } = openScene({ synced: false })
  const begun = begin('a')
  await settle()
  clock.advance(5_000)
  await begun
})

test('a start that is stopped while it waits leaves the queue', async () => {
  const { starts, begin, begun } = openScene()
  await begin('a')
  const stop = new AbortController()
  const stopped = begin('b', {}, stop.signal)
  void begin('c')
  stop.abort(new Error('the attempt is stopped'))
  await expect(stopped).rejects.toThrow('the attempt is stopped')
  starts.forget('a')
  await settle()
  expect(begun).toEqual(['a', 'c'])
})

test('says who starts and how many are before a build, after a second and then every ten', async () => {
  const { starts, clock, begin, messages } = openScene()
  const pass = async (ms: number): Promise<string[]> => {
    for (let at = 0; at < ms; at += 500) {
      clock.advance(500)
      await settle()
    }
    return messages.splice(0)
  }
  await begin('one/1')
  void begin('two/2')
  void begin('three/1')
  await settle()
  expect(await pass(500)).toEqual([])
  expect(await pass(500)).toEqual([
    'At most one build or warm pair starts at once on these nodes. Starting: one. 1 build starts before this one.',
    'At most one build or warm pair starts at once on these nodes. Starting: one. This build is next.',
  ])
  starts.forget('one/1')
  await settle()
  expect(await pass(9_500)).toEqual([])
  expect(await pass(500)).toEqual([
    'At most one build or warm pair starts at once on these nodes. Starting: three. This build is next.',
  ])
})

test('names warm pairs and later attempts in the reason for waiting', async () => {
  const { clock, begin, messages } = openScene()
  await begin('one/2')
  void begin('pair-1/1', { isWarm: true })
  void begin('pair-2/1', { isWarm: true })
  void begin('two/1')
  await settle()
  for (let at = 0; at < 1_000; at += 500) {
    clock.advance(500)
    await settle()
  }
  const limit = 'At most one build or warm pair starts at once on these nodes. Starting: one (attempt 2).'
  expect(messages).toEqual([
    `${limit} 1 build starts before this one.`,
    `${limit} 2 builds or warm pairs start before this one.`,
    `${limit} This build is next.`,
  ])
})

test('a warm pair that is next says so', async () => {
  const { clock, begin, messages } = openScene()
  await begin('one/1')
  void begin('pair-1/1', { isWarm: true })
  void begin('pair-2/1', { isWarm: true })
  await settle()
  for (let at = 0; at < 1_000; at += 500) {
    clock.advance(500)
    await settle()
  }
  expect(messages.map((message) => message.split('Starting: one. ')[1])).toEqual([
    'This warm pair is next.',
    '1 warm pair starts before this one.',
  ])
})
