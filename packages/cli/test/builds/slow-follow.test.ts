/** A follower that is disconnected because it is slow, or rejected because there are too many. */
import { manualClock, systemClock } from '@windlass/kit'
import type { FeedItem } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { recordPauses, skippingClock } from '../../../../e2e/support/clocks.ts'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { followFeed } from '../../src/follow/feed.ts'

const MIB = 1_048_576
const STALL_MS = 20_000
const never = new AbortController().signal

function textOf(items: readonly FeedItem[]): string {
  return items.map((item) => (item.kind === 'log' ? Buffer.from(item.bytes, 'base64').toString() : '')).join('')
}

test('a follower whose output is blocked for a while shows every byte once', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock, readerLimits: { stallMs: STALL_MS } })
  const { build, engine } = await scene.start()
  let text = ''
  for (let n = 0; n < 24; n += 1) {
    const frame = `frame ${n}`.padEnd(MIB - 1, '.') + '\n'
    await engine.log('step/hello', frame)
    text += frame
  }
  await engine.finish({ status: 'success' })
  const breaks: unknown[] = []
  const follower = followFeed({
    client: scene.admin,
    buildId: build.id,
    clock: systemClock,
    signal: never,
    after: 0,
    onBreak: (error) => breaks.push(error),
    onBack: () => undefined,
  })
  const items: FeedItem[] = []
  for (;;) {
    const { value, done } = await follower.next()
    if (done === true) break
    items.push(value)
    if (value.kind !== 'log' || items.filter(({ kind }) => kind === 'log').length > 1) continue
    while (scene.server.app.readers.count > 0) {
      clock.advance(STALL_MS)
      await systemClock.sleep(10)
    }
  }
  expect(items.map(({ position }) => position)).toEqual(items.map((_, index) => index + 1))
  expect(textOf(items) === text).toBe(true)
  expect(breaks).toMatchObject([{ code: 'server-unreachable' }])
})

test('a rejected follower retries after the time that the server asks for', async () => {
  await using scene = await openHttpScene({ readerLimits: { total: 1 } })
  const { build, engine } = await scene.start()
  const first = scene.admin.builds.follow(build.id)
  await first.next()
  const clock = recordPauses(skippingClock())
  const breaks: unknown[] = []
  const { promise: isFull, resolve } = Promise.withResolvers<void>()
  const following = Array.fromAsync(
    followFeed({
      client: scene.admin,
      buildId: build.id,
      clock,
      signal: never,
      after: 0,
      onBreak(error) {
        breaks.push(error)
        resolve()
      },
      onBack: () => undefined,
    }),
  )
  await isFull
  await first.return(undefined)
  await engine.succeed()
  expect(textOf(await following)).toBe('output of hello\n')
  expect(breaks).toMatchObject([{ code: 'too-many-readers', status: 429 }])
  expect(clock.pauses[0]).toBeGreaterThanOrEqual(5000)
})
