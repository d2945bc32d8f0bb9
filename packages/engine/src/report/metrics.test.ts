import { systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openMeasurements } from './measurements.ts'
import { serveMetrics } from './metrics.ts'

test('exposes the build and the start and end of its steps to Prometheus (R254)', async () => {
  const metrics = openMeasurements(systemClock)
  await using served = await serveMetrics(metrics, 0)
  const read = async (): Promise<string> => (await fetch(`http://127.0.0.1:${served.port}/metrics`)).text()
  // The engine of a warm pair has no build yet.
  expect(await read()).toBe('')
  metrics.begin({ buildId: 'b', attempt: 2 })
  expect(await read()).toContain('codefresh_classic_build_info{cf_classic_build_id="b",attempt="2",phase="preparing"} 1')
  metrics.observe({ seq: 1, at: 1000, type: 'step.started', step: 'a "b"', try: 1 })
  metrics.observe({
    seq: 2,
    at: 3500,
    type: 'step.finished',
    step: 'a "b"',
    try: 1,
    status: 'success',
    exitCode: 0,
    members: {},
    exports: [],
  })
  metrics.observe({ seq: 3, at: 4000, type: 'attempt.finished', outcome: { status: 'success' }, streams: {} })
  const step = 'cf_classic_build_id="b",attempt="2",step_name="a \\"b\\"",step_type=""'
  const text = await read()
  expect(text).toContain('phase="finalizing"} 1')
  expect(text).toContain(`step_start_timestamp{${step}} 1\n`)
  expect(text).toContain(`step_completion_timestamp{${step}} 3.5\n`)
  metrics.end({ status: 'success' })
  expect(await read()).toContain('phase="succeeded"} 1')
  expect((await fetch(`http://127.0.0.1:${served.port}/`)).status).toBe(404)
})

test('a repeated step keeps its start and the last times of its phases, and repeated calls of the daemon are counted', () => {
  const metrics = openMeasurements(systemClock)
  metrics.begin({ buildId: 'b', attempt: 1 })
  const events = [
    { type: 'step.started', step: 'one', try: 1, at: 1000 },
    { type: 'step.phase', step: 'one', phase: 'run', since: 2000, at: 3000 },
    { type: 'step.started', step: 'one', try: 2, at: 5000 },
    { type: 'step.phase', step: 'one', phase: 'run', since: 6000, at: 7000 },
  ] as const
  for (const [index, event] of events.entries()) metrics.observe({ seq: index + 1, ...event })
  metrics.retried({ operation: 'connect', error: new Error('refused'), delayMs: 20 })
  metrics.retried({ operation: 'connect', error: new Error('refused'), delayMs: 480 })
  const valueOf = (name: string, phase?: string): number | undefined =>
    metrics
      .read()
      .find((one) => one.name === `codefresh.classic.${name}`)
      ?.points.find(({ attributes }) => phase === undefined || attributes['phase'] === phase)?.value
  expect(valueOf('build.step.start.timestamp')).toBe(1)
  expect(valueOf('build.step.phase.start.timestamp', 'run')).toBe(6)
  expect(valueOf('build.step.completion.timestamp')).toBeUndefined()
  expect(valueOf('engine.docker.request_retries')).toBe(2)
  expect(valueOf('engine.docker.request_retries.delay.time')).toBe(0.5)
  // A build that waits for an approval goes on in another attempt.
  metrics.observe({ seq: 9, at: 8000, type: 'attempt.finished', outcome: { status: 'pending-approval' }, streams: {} })
  metrics.end({ status: 'pending-approval' })
  expect(valueOf('build.completion.timestamp')).toBeUndefined()
})
