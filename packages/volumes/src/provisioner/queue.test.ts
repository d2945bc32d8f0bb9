import { silentLog, systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openQueue } from './queue.ts'

test('processes each key one at a time, several keys concurrently, and retries failures', async () => {
  const running = new Set<string>()
  const most = { keys: 0, failures: 0 }
  const done = new Map<string, number>()
  const finished = Promise.withResolvers<void>()
  const stop = new AbortController()
  const queue = openQueue({
    name: 'test',
    clock: systemClock,
    log: silentLog,
    signal: stop.signal,
    threads: 3,
    onFailure: () => void (most.failures += 1),
    async work(key) {
      expect(running.has(key)).toBe(false)
      running.add(key)
      most.keys = Math.max(most.keys, running.size)
      await systemClock.sleep(2)
      running.delete(key)
      const count = (done.get(key) ?? 0) + 1
      done.set(key, count)
      if (key === 'k0' && count === 1) throw new Error('once')
      if (key === 'k1' && count === 1) return 5
      if (done.get('k0') === 2 && (done.get('k1') ?? 0) >= 2) finished.resolve()
      return undefined
    },
  })
  for (let round = 0; round < 3; round += 1) for (let n = 0; n < 8; n += 1) queue.add(`k${n}`)
  await finished.promise
  stop.abort()
  expect(most).toEqual({ keys: 3, failures: 1 })
  expect(done.size).toBe(8)
})
