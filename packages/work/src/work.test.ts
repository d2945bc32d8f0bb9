import { fault, isFault, silentLog, systemClock } from '@windlass/kit'
import { afterEach, expect, test } from 'vitest'
import { afterKill, hasty, openFolder, removeFolders } from '../test/support/folders.ts'
import { openWork, type Batch, type Run, type Work, type WorkOptions } from './work.ts'

const opened: Work<string, string>[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((work) => work.close(0)))
  removeFolders()
})

function open(options: Partial<WorkOptions<string, string>> & { readonly dir: string }): Work<string, string> {
  const work = openWork<string, string>({
    setting: 'DIR',
    encode: (task) => task,
    decode: String,
    decodeReport: String,
    limits: () => ({ concurrency: 2, buffer: 100 }),
    run: async ({ units }, { finish }) => {
      for (const unit of units) await finish(unit, `done ${unit.task}`)
    },
    failure: (_, error) => `failed: ${error instanceof Error ? error.message : String(error)}`,
    report: async () => undefined,
    isRefusal: (error) => isFault(error, 'not-found'),
    clock: hasty,
    log: silentLog,
    ...options,
  })
  opened.push(work)
  return work
}

const batch = (...keys: readonly string[]): Batch<string> => ({
  group: 'g',
  lane: 'l',
  units: keys.map((key) => ({ key, task: `task of ${key}` })),
})

async function until(is: () => boolean): Promise<void> {
  for (let i = 0; !is(); i += 1) {
    if (i > 3_000) throw new Error('timed out')
    await systemClock.sleep(5)
  }
}

test('runs a key once that is accepted again while it is queued, while it runs and while its report is unsent', async () => {
  const held = Promise.withResolvers<void>()
  const acknowledged = Promise.withResolvers<void>()
  const ran: string[] = []
  const work = open({
    dir: openFolder(),
    run: async ({ units: [unit] }, { finish }) => {
      if (unit === undefined) return
      ran.push(unit.key)
      await held.promise
      await finish(unit, 'done')
    },
    report: () => acknowledged.promise,
  })
  await work.accept([batch('a'), batch('b'), batch('a')])
  await work.accept([batch('a', 'b')])
  await until(() => ran.length === 1)
  expect([work.waiting(), work.running]).toEqual([1, 1])
  held.resolve()
  await until(() => work.unsent === 2)
  await work.accept([batch('a')])
  expect(work.has('a')).toBe(true)
  acknowledged.resolve()
  await work.idle()
  expect(ran).toEqual(['a', 'b'])
  expect(work.has('a')).toBe(false)
  await work.accept([batch('a')])
  await work.idle()
  expect(ran).toEqual(['a', 'b', 'a'])
})

test('gives the units of a killed process to the next one, which runs each once even if it is handed out again', async () => {
  const dir = openFolder()
  const first = open({ dir, run: (_, { signal }) => systemClock.sleep(60_000, signal) })
  await first.accept([batch('a', 'b'), { ...batch('c'), lane: 'other' }])
  const ran: string[] = []
  const acknowledged = Promise.withResolvers<void>()
  const second = open({
    dir: afterKill(dir),
    run: async ({ units }, { finish }) => {
      ran.push(...units.map(({ key }) => key))
      for (const unit of units) await finish(unit, 'done')
    },
    report: () => acknowledged.promise,
  })
  expect(second.unfinished).toEqual(['a', 'b', 'c'].map((key) => ({ key, task: `task of ${key}` })))
  await second.accept([batch('b', 'd')])
  second.finish(second.unfinished.filter(({ key }) => key === 'c').map((unit) => ({ unit, report: undefined })))
  await second.accept([batch('a', 'b')])
  await until(() => second.unsent === 3)
  acknowledged.resolve()
  await second.idle()
  expect(ran.toSorted()).toEqual(['a', 'b', 'd'])
})

test('sends a stored report from the next process, also if the acknowledgement was lost', async () => {
  const dir = openFolder()
  const received: string[] = []
  const first = open({
    dir,
    report: async (key, report) => {
      received.push(`${key} ${report}`)
      throw new Error('the connection was cut')
    },
  })
  await first.accept([batch('a')])
  await until(() => received.length > 0)
  const copy = afterKill(dir)
  await first.close(0)
  received.length = 0
  const second = open({ dir: copy, report: async (key, report) => void received.push(`${key} ${report}`) })
  expect(second.unfinished).toEqual([])
  await second.idle()
  expect(received).toEqual(['a done task of a'])
})

test('reports a unit whose run throws or forgets it, and ignores reports that come after the outcome', async () => {
  const received: string[] = []
  let late: Run<string> | undefined
  const work = open({
    dir: openFolder(),
    async run({ lane, units }, run) {
      late = run
      if (lane === 'throws') throw new Error('a bug')
      const [first] = units
      if (first !== undefined) await run.finish(first, 'done')
    },
    report: async (key, report) => void received.push(`${key} ${report}`),
  })
  await work.accept([{ ...batch('a', 'b'), lane: 'forgets' }])
  await work.accept([{ ...batch('c'), lane: 'throws' }])
  await work.idle()
  await late?.report({ key: 'a' }, 'progress')
  await late?.finish({ key: 'a' }, 'done again')
  await work.idle()
  expect(received.toSorted()).toEqual(['a done', 'b failed: the run ended without an outcome', 'c failed: a bug'])
})

test('drops a report that is refused, and sends one after other failures again, behind those of other keys', async () => {
  const received: string[] = []
  const work = open({
    dir: openFolder(),
    limits: () => ({ concurrency: 50, buffer: 100 }),
    report: async (key, _, { number }) => {
      received.push(key)
      if (key === 'unwanted') throw fault('not-found')
      if (key.startsWith('unlucky') && number < 4) throw new Error('503')
    },
  })
  const unlucky = Array.from({ length: 20 }, (_, n) => `unlucky${n}`)
  await work.accept([...unlucky, 'unwanted', 'fine'].map((key) => ({ ...batch(key), lane: key })))
  await work.idle()
  const count = (key: string): number => received.filter((each) => each === key).length
  expect([count('unwanted'), count('fine'), ...unlucky.map(count)]).toEqual([1, 1, ...unlucky.map(() => 4)])
  // Twenty calls are made at once: without an order the failing ones would take them all again.
  expect(received.indexOf('fine')).toBeLessThan(received.lastIndexOf('unlucky0'))
})

test('neither stores nor runs anything of a poll for which the ledger has no space, and continues when there is space', async () => {
  const acknowledged = Promise.withResolvers<void>()
  const ran: string[] = []
  const work = open({
    dir: openFolder(),
    limitBytes: 200 * 1024,
    run: async ({ units }, { finish }) => {
      ran.push(...units.map(({ key }) => key))
      // A report needs more space than its task.
      for (const unit of units) await finish(unit, unit.task.repeat(3))
    },
    report: () => acknowledged.promise,
  })
  const big = (key: string, kib: number): Batch<string> => ({
    group: 'g',
    lane: key,
    units: [{ key, task: 'x'.repeat(kib * 1024) }],
  })
  await expect(work.accept([big('small', 1), big('huge', 400)])).rejects.toMatchObject({ code: 'spool-full' })
  expect([work.has('small'), work.waiting(), work.running]).toEqual([false, 0, 0])
  await work.accept([big('a', 40)])
  await until(() => work.unsent === 1)
  await work.accept([big('b', 40)])
  // The report of `b` does not fit until the one of `a` is acknowledged.
  await until(() => ran.length === 2)
  await systemClock.sleep(20)
  expect([work.unsent, work.running]).toEqual([1, 1])
  acknowledged.resolve()
  await work.idle()
  expect([ran, work.has('a'), work.has('b')]).toEqual([['a', 'b'], false, false])
})

test('finishes queued work on close, and leaves what does not end in time to the next process', async () => {
  const dir = openFolder()
  const held = Promise.withResolvers<void>()
  const received: string[] = []
  const both = Promise.withResolvers<void>()
  const record = async (key: string): Promise<void> => {
    received.push(key)
    if (received.length === 2) both.resolve()
  }
  const first = open({
    dir,
    // The time to end is over when the two that can end have, however slow the disk is.
    clock: { ...systemClock, sleep: (ms, signal) => (ms === 437_000 ? both.promise : systemClock.sleep(ms, signal)) },
    run: async ({ lane, units: [unit] }, { signal, finish }) => {
      if (unit === undefined) return
      if (lane === 'long') await systemClock.sleep(60_000, signal)
      await held.promise
      await finish(unit, 'done')
    },
    report: record,
  })
  await first.accept([batch('a'), batch('b'), { ...batch('c'), lane: 'long' }])
  const closing = first.close(437_000)
  held.resolve()
  await closing
  await expect(first.ended).resolves.toBeUndefined()
  expect(received.toSorted()).toEqual(['a', 'b'])
  const second = open({ dir, report: record })
  expect(second.unfinished.map(({ key }) => key)).toEqual(['c'])
})

test('names the setting of a folder that cannot be written', () => {
  expect(() => open({ dir: '/dev/null/state', setting: 'PULLER_DIR' })).toThrow(
    expect.objectContaining({ code: 'config-invalid', hint: expect.stringContaining('PULLER_DIR') }),
  )
})
