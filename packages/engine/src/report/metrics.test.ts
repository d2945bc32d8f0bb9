import { expect, test } from 'vitest'
import { openEngineMetrics, serveMetrics } from './metrics.ts'

test('exposes the build and the start and end of its steps to Prometheus (R254)', async () => {
  const metrics = openEngineMetrics()
  metrics.begin({ buildId: 'b', attempt: 2 })
  await using served = await serveMetrics(metrics, 0)
  const read = async (): Promise<string> => (await fetch(`http://127.0.0.1:${served.port}/metrics`)).text()
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
  const text = await read()
  expect(text).toContain('phase="success"} 1')
  expect(text).toContain('step_start_timestamp{cf_classic_build_id="b",attempt="2",step_name="a \\"b\\""} 1\n')
  expect(text).toContain('step_completion_timestamp{cf_classic_build_id="b",attempt="2",step_name="a \\"b\\""} 3.5\n')
  expect((await fetch(`http://127.0.0.1:${served.port}/`)).status).toBe(404)
})
