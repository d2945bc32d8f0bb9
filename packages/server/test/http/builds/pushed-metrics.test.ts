/** Metrics of builds: what a collector receives from a real engine on real Docker. */
import { silentLog, systemClock } from '@windlass/kit'
import { beforeAll, expect, test } from 'vitest'
import { startCollector, type Taken } from '../../../../../e2e/support/collector.ts'
import { eventually } from '../../../../../e2e/support/eventually.ts'
import { ensureImages } from '../../../../../e2e/support/images.ts'
import { openMeasurements } from '../../../../engine/src/report/measurements.ts'
import { readOtlpSettings } from '../../../../engine/src/report/otlp-settings.ts'
import { startPush, type Push } from '../../../../engine/src/report/push.ts'
import { startDockerEngine } from '../../support/fakes/docker-engine.ts'
import { openHttpScene } from '../../support/http-scene.ts'

let images: Readonly<Record<string, string>>
beforeAll(async () => {
  images = await ensureImages('shell', 'tools')
})

const measurements = openMeasurements(systemClock)

function push(env: Record<string, string>): Push {
  const settings = readOtlpSettings({ OTEL_METRIC_EXPORT_INTERVAL: '300', ...env })
  if (typeof settings !== 'object') throw new Error(settings ?? 'there is no endpoint')
  return startPush(measurements, { settings, clock: systemClock, log: silentLog })
}

/** Returns the points of a metric with their attributes, without those that all have. */
function pointsOf(taken: Taken | undefined, name: string): { attributes: Record<string, string>; value: number }[] {
  return (taken?.metrics.get(name)?.points ?? []).map(({ attributes, value }) => ({
    attributes: Object.fromEntries(Object.entries(attributes).filter(([key]) => !key.startsWith('cf.') && key !== 'attempt')),
    value,
  }))
}

test('a collector receives the phases, times and usage of a build and its steps, and one that fails delays nothing (R248)', async () => {
  await using scene = await openHttpScene()
  await using collector = await startCollector()
  const { SHELL_IMAGE: shell } = images
  const document = `
version: '1.0'
steps:
  count: {image: '${shell}', commands: ['sleep 2; echo done']}
  pair:
    type: composition
    composition: {version: '3', services: {db: {image: '${shell}', command: sleep 600}}}
    composition_candidates: {app: {image: '${shell}', command: echo works}}
  fails: {image: '${shell}', commands: [exit 3]}
`
  const pipeline = await scene.admin.pipelines.create({ name: 'shop/app', document })
  const build = await scene.admin.builds.create({ pipeline: pipeline.name })
  // The first pushes fail, which affects neither the build nor what is pushed later.
  collector.answer(503)
  const pushed = push({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20secret',
    OTEL_RESOURCE_ATTRIBUTES: 'cf.classic.runtime.name=prod,broken',
  })
  await using running = await startDockerEngine(scene, { toolsImage: images['TOOLS_IMAGE'], metrics: measurements })
  await eventually('a push is refused', async () => (collector.requests() > 0 ? true : undefined))
  collector.answer(200)
  const end = await running.engine.ended
  expect(end).toMatchObject({ end: 'reported', outcome: { status: 'error' } })
  if (end.end === 'reported') measurements.end(end.outcome)
  // Only the last push has the end.
  const live = collector.taken.at(-1)
  await pushed.close()
  const last = collector.taken.at(-1)
  expect(live).toBeDefined()
  expect(live?.metrics.get('codefresh.classic.build.completion.timestamp')).toBeUndefined()

  expect(last?.headers).toMatchObject({ authorization: 'Bearer secret', 'content-type': 'application/json' })
  expect(last?.resource).toEqual({ 'cf.classic.runtime.name': 'prod', 'service.name': 'cf-classic-engine' })
  const common = {
    'cf.classic.build.id': build.id,
    'cf.classic.pipeline.id': pipeline.id,
    'cf.classic.pipeline.name': 'shop/app',
    'cf.classic.account.id': expect.stringMatching(/^\w+$/),
    'cf.classic.account.name': expect.stringMatching(/./),
    attempt: '1',
  }
  const all = [...(last?.metrics.values() ?? [])].flatMap(({ points }) => points)
  for (const { attributes } of all) expect(attributes).toMatchObject(common)
  // Repeated calls of the Docker daemon have metrics too, and there may be none.
  const units = Object.fromEntries(
    [...(last?.metrics ?? [])]
      .filter(([name]) => name.startsWith('codefresh.classic.build'))
      .map(([name, { unit, isSum }]) => [name, isSum ? `${unit}, sum` : unit]),
  )
  const times = (of: string): object => ({
    [`${of}.info`]: '1',
    [`${of}.start.timestamp`]: 's',
    [`${of}.completion.timestamp`]: 's',
    [`${of}.phase.start.timestamp`]: 's',
    [`${of}.phase.completion.timestamp`]: 's',
  })
  expect(units).toEqual({
    ...times('codefresh.classic.build'),
    ...times('codefresh.classic.build.step'),
    ...times('codefresh.classic.build.composition'),
    ...times('codefresh.classic.build.composition.task'),
    'codefresh.classic.build.step.cpu.time': 's, sum',
    'codefresh.classic.build.step.memory.usage': 'By',
    'codefresh.classic.build.step.memory.working_set': 'By',
  })

  const info = (of: string): object[] => pointsOf(last, `codefresh.classic.build${of}.info`).map(({ attributes }) => attributes)
  expect(info('')).toEqual([{ phase: 'failed', volume: 'new' }])
  const phases = pointsOf(last, 'codefresh.classic.build.phase.completion.timestamp').map(({ attributes }) => attributes['phase'])
  expect(phases).toEqual(['preparing', 'running', 'finalizing'])
  const finished = (name: string, type: string): object => ({ 'step.name': name, 'step.type': type, phase: 'finished' })
  expect(info('.step')).toEqual([finished('count', 'freestyle'), finished('pair', 'composition'), finished('fails', 'freestyle')])
  expect(info('.composition')).toEqual([{ 'composition.name': 'pair', 'composition.type': 'composition', phase: 'finished' }])
  const task = (name: string): object => ({ 'composition.name': 'pair', 'composition.task.name': name, phase: 'finished' })
  expect(info('.composition.task')).toEqual(expect.arrayContaining([task('app_1'), task('db_1')]))
  const [start, completion] = ['start', 'completion'].map((edge) => {
    const points = pointsOf(last, `codefresh.classic.build.step.phase.${edge}.timestamp`)
    return points.find(({ attributes }) => attributes['step.name'] === 'count' && attributes['phase'] === 'run')?.value ?? 0
  })
  expect((completion ?? 0) - (start ?? 0)).toBeGreaterThanOrEqual(2)
  const of = (name: string): number =>
    pointsOf(last, `codefresh.classic.build.step.${name}`).find(({ attributes }) => attributes['step.name'] === 'count')?.value ??
    0
  expect(of('cpu.time')).toBeGreaterThan(0)
  expect(of('memory.usage')).toBeGreaterThanOrEqual(of('memory.working_set'))
  expect(of('memory.working_set')).toBeGreaterThan(0)
  expect(await scene.admin.builds.get(build.id)).toMatchObject({ status: 'error' })
})
