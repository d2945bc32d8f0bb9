/** The last push of an engine, at a collector that takes nothing. */
import { manualClock, silentLog, type Clock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { startCollector } from '../../../../e2e/support/collector.ts'
import { openMeasurements } from './measurements.ts'
import { readOtlpSettings } from './otlp-settings.ts'
import { startPush } from './push.ts'

test('the last push is repeated for 3 s and no longer, also by a request without an answer', async () => {
  await using collector = await startCollector()
  collector.answer(503)
  const manual = manualClock(1_000_000)
  const pauses: number[] = []
  const clock: Clock = {
    ...manual,
    sleep(ms, signal) {
      pauses.push(ms)
      return manual.sleep(ms, signal)
    },
  }
  const measurements = openMeasurements(clock)
  measurements.begin({ buildId: 'b', attempt: 1 })
  const settings = readOtlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}` })
  if (typeof settings !== 'object') throw new Error('there is no endpoint')
  const closed = startPush(measurements, { settings, clock, log: silentLog }).close()
  for (let tries = 1; tries <= 10; tries += 1) {
    // Before the first of them is the interval of regular pushes.
    await expect.poll(() => pauses.length, { timeout: 5_000 }).toBe(tries + 1)
    expect(collector.requests()).toBe(tries)
    // With 300 ms left, the last request has no more time than that.
    if (tries === 9) collector.answer(undefined)
    manual.advance(300)
  }
  await closed
  expect([clock.monotonic(), collector.requests()]).toEqual([3_000, 10])
})
