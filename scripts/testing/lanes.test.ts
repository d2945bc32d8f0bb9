import { expect, test } from 'vitest'
import { type Job, runLanes } from './lanes.ts'

/** Jobs that write down when they begin and end. */
function record(): { log: string[]; job(name: string, more?: Partial<Job>): Job } {
  const log: string[] = []
  const job = (name: string, more: Partial<Job> = {}): Job => ({
    name,
    ready: Promise.resolve(),
    run: async () => {
      log.push(`+${name}`)
      await new Promise((resolve) => setImmediate(resolve))
      log.push(`-${name}`)
    },
    ...more,
  })
  return { log, job }
}

test('runs as many jobs in parallel as there are lanes, in order', async () => {
  const { log, job } = record()
  await runLanes([job('a'), job('b'), job('c')], { busy: 2, waiting: 1 })
  expect(log.slice(0, 2)).toEqual(['+a', '+b'])
  expect(log.indexOf('+c')).toBeGreaterThan(Math.min(log.indexOf('-a'), log.indexOf('-b')))
  expect(log.toSorted()).toEqual(['+a', '+b', '+c', '-a', '-b', '-c'])
})

test('a job whose parts are not ready lets later jobs run first', async () => {
  const { log, job } = record()
  const parts = Promise.withResolvers<void>()
  const after = job('after', { run: () => Promise.resolve(parts.resolve()) })
  await runLanes([job('slow', { ready: parts.promise }), job('quick'), after], { busy: 1, waiting: 1 })
  expect(log).toEqual(['+quick', '-quick', '+slow', '-slow'])
})

test('a job with predecessors starts when they have ended, and later jobs do not wait for it', async () => {
  const { log, job } = record()
  await runLanes([job('drill', { after: ['a', 'not asked for'] }), job('a'), job('b'), job('c')], { busy: 2, waiting: 1 })
  expect(log.indexOf('+drill')).toBeGreaterThan(log.indexOf('-a'))
  expect(log.slice(0, 2)).toEqual(['+a', '+b'])
})

test('a job that mostly waits starts beside another one, in addition to the lanes', async () => {
  const { log, job } = record()
  const parts = Promise.withResolvers<void>()
  const open = job('open', { run: () => Promise.resolve(parts.resolve()) })
  await runLanes(
    [open, job('drill', { beside: 'long', mostlyWaits: true }), job('long', { ready: parts.promise }), job('next')],
    { busy: 1, waiting: 1 },
  )
  expect(log.indexOf('+drill')).toBeGreaterThan(log.indexOf('+long'))
  expect(log.indexOf('+drill')).toBeLessThan(log.indexOf('-long'))
  expect(log.toSorted()).toEqual(['+drill', '+long', '+next', '-drill', '-long', '-next'])
  await runLanes([job('alone', { beside: 'not asked for', mostlyWaits: true })], { busy: 1, waiting: 1 })
  expect(log.at(-1)).toBe('-alone')
})

test('runs no more jobs that mostly wait than it has lanes for them, until the other jobs are all taken', async () => {
  const { job } = record()
  const held = Promise.withResolvers<void>()
  const started: string[] = []
  const hold = (name: string): Job => job(name, { mostlyWaits: true, run: () => held.promise })
  const begin = (name: string): Job => job(name, { run: async () => void started.push(name) })
  const third = job('third', { mostlyWaits: true, run: async () => held.resolve(void started.push('third')) })
  await runLanes([hold('first'), hold('second'), third, begin('a'), begin('b')], { busy: 1, waiting: 2 })
  // The two lanes for jobs that mostly wait are held, so the other one has run the third, after its own jobs.
  expect(started).toEqual(['a', 'b', 'third'])
})
