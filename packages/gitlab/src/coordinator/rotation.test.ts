import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { manualClock } from '@windlass/kit'
import { rotationTime, runRotation, type TokenDates } from './rotation.ts'
import { advanceUntil, keptLog, openPair, turns } from '../../../../e2e/gitlab/support/coordinator-pair.ts'

test('a token is renewed after three quarters of its life', () => {
  expect(rotationTime({ obtainedAt: 1_000, expiresAt: 5_000 })).toBe(4_000)
  expect(rotationTime({ obtainedAt: 1_000, expiresAt: undefined })).toBeUndefined()
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (obtainedAt, lifeMs) => {
      const at = rotationTime({ obtainedAt, expiresAt: obtainedAt + lifeMs }) ?? 0
      expect(at).toBeGreaterThanOrEqual(obtainedAt)
      expect(at).toBeLessThanOrEqual(obtainedAt + lifeMs)
    }),
  )
})

function start(options: { readonly life?: number; readonly isDisabled?: boolean; readonly rotate?: () => Promise<void> }) {
  const clock = manualClock(Date.parse('2026-01-01T00:00:00Z'))
  const log = keptLog()
  const rotations: number[] = []
  const begin = clock.now()
  const { life = 60_000 } = options
  let dates: TokenDates | undefined = { obtainedAt: begin, expiresAt: begin + life }
  const stop = new AbortController()
  const rotate = async (): Promise<void> => {
    rotations.push(clock.now() - begin)
    await options.rotate?.()
    dates = { obtainedAt: clock.now(), expiresAt: clock.now() + life }
  }
  const running = runRotation({ dates: () => dates, rotate, isDisabled: options.isDisabled === true, clock, log }, stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
  })
  return { clock, log, rotations }
}

test('renews the token each time that it is due', async () => {
  const { clock, rotations } = start({})
  await advanceUntil(clock, 1_000, () => rotations.length === 3)
  expect(rotations[0]).toBeGreaterThanOrEqual(45_000)
  expect(rotations[0]).toBeLessThan(60_000)
  expect((rotations[1] ?? 0) - (rotations[0] ?? 0)).toBeGreaterThanOrEqual(45_000)
})

test('tries again if the renewal fails', async () => {
  let failures = 2
  const rotate = async (): Promise<void> => {
    failures -= 1
    if (failures >= 0) throw new Error('the server is down')
  }
  const { clock, log, rotations } = start({ life: 40 * 86_400_000, rotate })
  await advanceUntil(clock, 3_600_000, () => rotations.length === 3)
  expect(log.lines.map(({ message }) => message)).toEqual(
    Array(2).fill('the token of the runner cannot be renewed; trying again later'),
  )
})

test('only warns once if rotation is disabled', async () => {
  const { clock, log, rotations } = start({ isDisabled: true })
  for (let n = 0; n < 10; n += 1) {
    clock.advance(60_000)
    await turns(3)
  }
  expect(rotations).toEqual([])
  expect(log.lines.map(({ level }) => level)).toEqual(['warn'])
})

test('resets the token at the server after three quarters of its life', async () => {
  const clock = manualClock(Date.parse('2026-01-01T00:00:00Z'))
  const { fake, client } = await openPair({ tokenExpiresAt: '2026-01-01T00:01:00Z' })
  const verified = await client.verify('s_1')
  if (verified.type !== 'valid') throw new Error('the token is not valid')
  let dates: TokenDates = { obtainedAt: clock.now(), expiresAt: Date.parse(verified.runner.tokenExpiresAt ?? '') }
  const renewed: string[] = []
  const rotate = async (): Promise<void> => {
    renewed.push((await client.resetToken()).token)
    dates = { obtainedAt: clock.now(), expiresAt: undefined }
  }
  const stop = new AbortController()
  const running = runRotation({ dates: () => dates, rotate, clock, log: keptLog() }, stop.signal)
  clock.advance(44_000)
  await turns()
  expect(fake.of('reset-token')).toEqual([])
  await advanceUntil(clock, 1_000, () => renewed.length === 1)
  expect(clock.now()).toBeLessThan(Date.parse('2026-01-01T00:01:00Z'))
  expect(renewed).toEqual(['glrt-renewed-1'])
  stop.abort()
  await running
})
