/** What the complete form of a build says about its steps, its waits and its commit. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeBuild } from '@windlass/plan'
import { BuildQuery, type EngineEventBody } from '@windlass/protocol'
import { listBuildPage } from '../../../src/builds/list/list-builds.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { ended, openScene, runAttempt, say, show, started, stepDone, submit, writeLog } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const DOCUMENT = `
version: '1.0'
steps:
  unit:
    type: parallel
    steps:
      lint: { image: 'node:22', commands: [lint] }
      test: { image: 'node:22', commands: [test] }
  deploy:
    image: alpine
    commands: [deploy]
    when: { condition: { all: { target: '"\${{TARGET}}" == "production"', key: '"\${{KEY}}" == "x"' } } }
`
const digest = `sha256:${'1'.repeat(64)}`
const failed = (step: string, more: object = {}): EngineEventBody => ({
  type: 'step.finished',
  step,
  try: 1,
  status: 'error',
  reason: 'exit-code',
  hint: 'See the log.',
  exitCode: 1,
  members: {},
  exports: [],
  ...more,
})

describe.each(DATABASES)('facts of builds on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('names the failed step, its image, its log and hint, and the values of conditions without secrets', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const pullRequest = { number: '7', title: 'Add a cache', target: 'main' }
    const build = await submit(scene, {
      document: DOCUMENT,
      variables: { TARGET: 'staging' },
      secrets: { KEY: 'quite-secret' },
      git: { commitMessage: 'Add a cache\n\nLong.', commitUrl: 'https://forge.test/c/1', pullRequest },
    })
    const key = await runAttempt(scene, build)
    await writeLog(app, key, { stream: 'step/test', offset: 0, text: 'one\ntwo\nthree' })
    const start = (step: string): EngineEventBody => ({ type: 'step.started', step, try: 1 })
    await say(app, key, started, start('unit'), start('lint'), start('test'), stepDone('lint'))
    expect(await show(app, build.id)).not.toHaveProperty('blame')
    await say(app, key, failed('test', { image: { name: 'node:22', digest }, streams: { 'step/test': 13 } }))
    await say(app, key, failed('unit', { reason: 'step-failed' }))
    const skipped = { status: 'skipped', reason: 'condition-false', hint: undefined, exitCode: undefined, try: 0 }
    await say(app, key, failed('deploy', skipped), ended('error', { reason: 'step-failed', step: 'unit' }))
    const shown = await show(app, build.id)
    expect(shown).toMatchObject({ status: 'error', blame: 'test', why: 'exit code 1' })
    const [listed] = (await listBuildPage(app, BuildQuery.parse({ limit: 1 }), undefined)).items
    expect(listed).toMatchObject({ id: build.id, blame: 'test', why: 'exit code 1' })
    expect(listed).not.toHaveProperty('steps')
    expect(listed && describeBuild(listed)).toBe(describeBuild(shown))
    expect(shown.git).toMatchObject({ commitUrl: 'https://forge.test/c/1', commitMessage: 'Add a cache\n\nLong.', pullRequest })
    const steps = Object.fromEntries((shown.steps ?? []).map((step) => [step.name, step]))
    expect(steps['test']).toMatchObject({
      image: { name: 'node:22', digest },
      hint: 'See the log.',
      logs: [{ attempt: 1, bytes: 13, lines: 3 }],
    })
    expect(steps['lint']).toMatchObject({ image: { name: 'node:22' } })
    expect(steps['lint']).not.toHaveProperty('logs')
    expect(steps['unit']).not.toHaveProperty('image')
    expect(steps['deploy']?.when).toMatchObject({
      holds: 'no',
      parts: [
        { label: 'target', holds: 'no', values: [{ name: 'TARGET', value: 'staging', isSecret: false }] },
        { label: 'key', values: [{ name: 'KEY', isSecret: true }] },
      ],
    })
    expect(JSON.stringify(shown)).not.toContain('quite-secret')
  })

  test('sums the waits of a build by cause', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app, { capacity: 1 })
    const first = await submit(scene)
    const key = await runAttempt(scene, first)
    const second = await submit(scene)
    clock.advance(2_000)
    await elect(app)
    clock.advance(5_000)
    const { waits } = await show(app, second.id)
    expect(waits).toEqual([
      { reason: 'runtime-capacity', ms: 5_000, since: second.created_at + 2_000 },
      { reason: 'queued', ms: 2_000 },
    ])
    await say(app, key, started, ended('success'))
    expect((await show(app, first.id)).waits).toEqual([])
  })
})
