import { fault, manualClock, silentLog, type Logger, type ManualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openFirstContact, type FirstContact } from './first-contact.ts'

interface Scene {
  readonly contact: FirstContact
  readonly clock: ManualClock
  /** Seconds and text of each warning. */
  readonly said: unknown[]
}

function open(): Scene {
  const clock = manualClock()
  const said: unknown[] = []
  const warn = (fields: unknown, text?: unknown): void => void said.push([Object(fields).seconds, String(text)])
  const log: Logger = { ...silentLog, info: () => undefined, warn }
  return { contact: openFirstContact({ url: 'http://windlass.test', clock, log }), clock, said }
}

test('logs a call that has no answer after 3 s, and only once', async () => {
  const { contact, clock, said } = open()
  const answered = Promise.withResolvers<string>()
  const watched = contact.watch(() => answered.promise)
  clock.advance(2_900)
  await Promise.resolve()
  expect(said).toEqual([])
  clock.advance(100)
  await expect.poll(() => said).toEqual([[3, expect.stringContaining('no answer within 3 s')]])
  clock.advance(60_000)
  answered.resolve('it')
  expect(await watched).toBe('it')
  expect(said).toHaveLength(1)
})

test('logs a failed call at once, and those that follow 5 s, 10 s and 20 s later', () => {
  const { contact, clock, said } = open()
  for (let second = 0; second < 60; second += 1) {
    contact.failed(fault('server-unreachable'))
    clock.advance(1_000)
  }
  const warning = expect.stringContaining('cannot be reached')
  expect(said).toEqual([0, 5, 15, 35].map((seconds) => [seconds, warning]))
})
