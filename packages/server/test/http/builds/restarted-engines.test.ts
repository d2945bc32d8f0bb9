/** The engine of a pair whose container dies before it has claimed a build and restarts on the same folder. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEngine, type RunningEngine } from '@windlass/engine'
import { silentLog, systemClock } from '@windlass/kit'
import { Build, RuntimeInput, type StartTask } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { putRuntime } from '../../../src/runtimes/runtimes.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

interface WarmScene extends AsyncDisposable {
  readonly scene: HttpScene
  readonly pair: StartTask
  /** Starts an engine on the folder of the pair. */
  engine(): RunningEngine
}

/** Returns the next start task of a pair or build that is not in `known`. */
async function nextStart({ agent }: HttpScene, known: readonly string[]): Promise<StartTask> {
  for (;;) {
    for (const task of await agent.claim()) {
      await agent.report(task, 'done')
      if (task.kind === 'start-attempt' && !known.includes(`${task.buildId}.${task.attempt}`)) return task
    }
  }
}

/** Opens a scene with a pair whose engine waited for a build and has died. */
async function openWarmScene(): Promise<WarmScene> {
  const scene = await openHttpScene()
  const folder = await mkdtemp(join(tmpdir(), 'windlass-warm-'))
  const spec = { warmPool: { min: 1, max: 1 } }
  const input = RuntimeInput.parse({ name: 'local', type: 'kubernetes', agent: 'agent', isDefault: true, spec })
  await putRuntime(scene.server.app, { name: 'local', input, changedBy: 'tester' })
  // Pairs are created only after a first build.
  const { build, engine: firstBuild } = await scene.start()
  await firstBuild.succeed()
  const pair = await nextStart(scene, [`${build.id}.1`])
  await scene.agent.fact({ buildId: pair.buildId, attempt: 1, state: 'running', dockerHost: 'tcp://127.0.0.1:1' })
  const engine = (): RunningEngine =>
    startEngine({
      serverUrl: scene.server.url,
      bootstrap: pair.engine.bootstrap,
      isWarm: true,
      askDockerHost: true,
      dockerEnv: {},
      spoolDir: join(folder, 'attempt'),
      clock: systemClock,
      log: silentLog,
    })
  const first = engine()
  await expect.poll(() => statusOf(scene, pair), { timeout: 60_000 }).toBe('ready')
  await first.stop()
  return {
    scene,
    pair,
    engine,
    async [Symbol.asyncDispose]() {
      await scene[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function statusOf({ server }: HttpScene, { buildId }: StartTask): Promise<string | undefined> {
  const { query } = server.app.store
  return (await query.selectFrom('warm_pair').select('status').where('id', '=', buildId).executeTakeFirst())?.status
}

const dead = ({ buildId }: StartTask): Record<string, unknown> => ({
  buildId,
  attempt: 1,
  object: 'engine-x',
  state: 'lost',
  reason: 'engine-lost',
  message: 'The engine ended: OOMKilled, exit code 137.',
  engineMayReport: true,
})

test('a pair whose engine restarts before it has a build ends and is replaced', async () => {
  await using warm = await openWarmScene()
  const { scene, pair } = warm
  expect(await warm.engine().ended).toEqual({ end: 'stopped' })
  await scene.agent.fact(dead(pair))
  await scene.agent.fact({ buildId: pair.buildId, attempt: 1, state: 'gone' })
  const next = await nextStart(scene, [`${pair.buildId}.1`])
  expect(await statusOf(scene, pair)).toBe('gone')
  expect(await statusOf(scene, next)).toBe('starting')
})

test('a build that takes a pair with a dead engine continues with another attempt', async () => {
  await using warm = await openWarmScene()
  const { scene, pair } = warm
  const build = await scene.submit()
  await expect.poll(() => statusOf(scene, pair), { timeout: 60_000 }).toBe('taken')
  const { ended } = warm.engine()
  expect(await ended).toMatchObject({ end: 'reported', outcome: { reason: 'engine-lost' } })
  await scene.agent.fact(dead(pair))
  await scene.agent.fact({ buildId: pair.buildId, attempt: 1, state: 'gone' })
  const known = [`${pair.buildId}.1`]
  for (let task = await nextStart(scene, known); task.buildId !== build.id; task = await nextStart(scene, known))
    known.push(`${task.buildId}.${task.attempt}`)
  expect(await scene.admin.call('GET', `/v1/builds/${build.id}`, Build)).toMatchObject({
    attempt: 2,
    attempts: [{ reason: 'engine-lost' }, {}],
  })
})
