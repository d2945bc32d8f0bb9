import { PipelineInput } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { putAccountSettings, readAccountSettings } from '../../../src/account/settings.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import {
  ended,
  openScene,
  PROTOCOL,
  runAttempt,
  say,
  show,
  startAttempt,
  started,
  submit,
  type Scene,
} from '../../support/scene.ts'
import type { AttemptKey } from '../../../src/store/builds/attempts.ts'

const THREE = `version: '1.0'
steps:
  first: { image: alpine, commands: [echo first] }
  second: { image: alpine, commands: [echo second] }
  third: { image: alpine, commands: [echo third] }
`
const exported = [
  { name: 'PLAIN', value: 'seen', secret: false },
  { name: 'TOKEN', value: 'hidden-value', secret: true },
]

/** Runs a build whose first step exports variables and whose second step fails. */
async function failAtSecond(scene: Scene, input: object = {}): Promise<{ build: BuildRow; key: AttemptKey }> {
  const build = await submit(scene, { document: THREE, ...input })
  const key = await runAttempt(scene, build)
  await say(
    scene.app,
    key,
    started,
    { type: 'step.started', step: 'first', try: 1 },
    {
      type: 'step.finished',
      step: 'first',
      try: 1,
      status: 'success',
      exitCode: 0,
      members: { imageId: 'sha256:1' },
      exports: exported,
    },
    { type: 'step.started', step: 'second', try: 1 },
    {
      type: 'step.finished',
      step: 'second',
      try: 1,
      status: 'error',
      reason: 'exit-code',
      exitCode: 1,
      members: {},
      exports: [],
    },
    { type: 'step.finished', step: 'third', try: 0, status: 'skipped', reason: 'not-reached', members: {}, exports: [] },
    ended('error', { reason: 'step-failed', step: 'second' }),
  )
  return { build, key }
}

async function claimNext(scene: Scene, build: BuildRow): ReturnType<typeof claimAttempt> {
  const { buildId, attempt } = await startAttempt(scene, build)
  return claimAttempt(scene.app, { buildId, attempt }, { ...PROTOCOL, claimKey: `claim-key-of-${buildId}` })
}

describe.each(DATABASES)('restarts on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('keeps results, members and variables of earlier steps in a restart from the failed step (P159)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const { build } = await failAtSecond(scene, { variables: { GREETING: 'hi' } })
    const again = await submit(scene, { document: undefined, restartOf: build.id, restartFrom: 'failed' })
    expect(await show(app, again.id)).toMatchObject({
      restartOf: build.id,
      status: 'pending',
      steps: [
        { name: 'first', status: 'success', carried: true },
        { name: 'second', status: 'pending' },
        { name: 'third', status: 'pending' },
      ],
    })
    const claimed = await claimNext(scene, again)
    expect(claimed.resume).toEqual({ cause: 'restart' })
    expect(claimed.snapshot.steps).toMatchObject({
      first: { status: 'success', members: { imageId: 'sha256:1' }, output: { PLAIN: 'seen', TOKEN: 'hidden-value' } },
      second: { status: 'pending' },
    })
    expect(claimed.snapshot.exports).toMatchObject(exported)
    const stored = await app.store.query.selectFrom('event').select('data').where('build_id', '=', again.id).execute()
    expect(JSON.stringify(stored)).not.toContain('hidden-value')
  })

  test('restarts from any step, with other variables (P159)', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const { build } = await failAtSecond(scene, { variables: { GREETING: 'hi' } })
    const again = await submit(scene, {
      document: undefined,
      restartOf: build.id,
      restartFrom: 'first',
      variables: { GREETING: 'hello' },
    })
    const { snapshot, plan } = await claimNext(scene, again)
    expect(Object.values(snapshot.steps).map(({ status }) => status)).toEqual(['pending', 'pending', 'pending'])
    expect(plan.variables.at(-1)?.variables).toEqual({ GREETING: { value: 'hello' } })
  })

  test('rejects a restart without a failure, from an unknown step, or if the pipeline forbids it (P159)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const ok = await submit(scene, { document: THREE })
    const from = (restartOf: string, restartFrom = 'failed'): Promise<BuildRow> =>
      submit(scene, { document: undefined, restartOf, restartFrom })
    await expect(from(ok.id)).rejects.toMatchObject({ code: 'restart-impossible' })
    await say(app, await runAttempt(scene, ok), started, ended('success'))
    await expect(from(ok.id)).rejects.toMatchObject({ code: 'restart-impossible' })
    await expect(from(ok.id, 'nonsense')).rejects.toMatchObject({ code: 'restart-impossible' })
    await putAccountSettings(app, {
      ...(await readAccountSettings(app.store.query, app.accountId)),
      permitRestartFromFailedSteps: false,
    })
    const { build } = await failAtSecond(scene)
    await expect(from(build.id)).rejects.toMatchObject({ code: 'restart-forbidden' })
    await putPipeline(app, {
      input: PipelineInput.parse({ name: 'p/free', document: THREE, settings: { permitRestartFromFailedSteps: true } }),
      precondition: {},
    })
    const { build: own } = await failAtSecond(scene, { document: undefined, pipeline: 'p/free' })
    expect(await from(own.id)).toMatchObject({ status: 'pending' })
  })

  test('takes over only the request in a restart from the beginning (P158)', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const { build } = await failAtSecond(scene, { only: ['first', 'second'], noCache: true, trigger: 'nightly' })
    const again = await submit(scene, { document: undefined, restartOf: build.id })
    expect(again).toMatchObject({ trigger_name: 'nightly' })
    const claimed = await claimNext(scene, again)
    expect(claimed).toMatchObject({ only: ['first', 'second'], noCache: true })
    expect(claimed.resume).toBeUndefined()
    expect(Object.values(claimed.snapshot.steps).every(({ status }) => status === 'pending')).toBe(true)
  })

  test('gives the engine the steps to run or skip, and the switches of the run (P162)', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await putPipeline(held.app, {
      input: PipelineInput.parse({ name: 'p/switches', document: THREE, settings: { options: { noCache: true } } }),
      precondition: {},
    })
    const build = await submit(scene, { document: undefined, pipeline: 'p/switches', skip: ['second'], noCfCache: true })
    expect(await claimNext(scene, build)).toMatchObject({ skip: ['second'], noCfCache: true, noCache: true, resetVolume: false })
  })

  test('replaces the document of a stored pipeline with that of the run, but keeps its variables (P163)', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await putPipeline(held.app, {
      input: PipelineInput.parse({ name: 'p/stored', document: THREE, variables: [{ key: 'OF', value: 'pipeline' }] }),
      precondition: {},
    })
    const document = "version: '1.0'\nsteps:\n  other: { image: alpine, commands: [echo other] }\n"
    const build = await submit(scene, { pipeline: 'p/stored', document })
    const { plan } = await claimNext(scene, build)
    expect(plan.steps.map(({ name }) => name)).toEqual(['other'])
    expect(plan.variables).toContainEqual({ level: 'pipeline', source: 'p/stored', variables: { OF: { value: 'pipeline' } } })
  })
})
