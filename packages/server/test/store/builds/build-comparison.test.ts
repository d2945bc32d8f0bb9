/** The facts in which two builds differ. */
import { RuntimeInput, type EngineEventBody } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compareBuilds } from '../../../src/builds/list/compare-builds.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import { putRuntime } from '../../../src/runtimes/runtimes.ts'
import { findBuild } from '../../../src/store/builds/builds.ts'
import { ended, HELLO, openScene, runAttempt, say, started, submit, type Scene } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

/** Runs a build whose first step has an image with this digest. */
async function run(scene: Scene, input: object, digest: string): Promise<BuildRow> {
  const build = await submit(scene, input)
  const key = await runAttempt(scene, build)
  const done: EngineEventBody = {
    type: 'step.finished',
    step: 'one',
    try: 1,
    status: 'success',
    members: {},
    exports: [],
    image: { name: 'alpine', digest },
  }
  await say(scene.app, key, started, { type: 'step.started', step: 'one', try: 1 }, done, ended('success'))
  const row = await findBuild(scene.app.store.query, scene.app.accountId, build.id)
  if (row === undefined) throw new Error('no build')
  return row
}

describe.each(DATABASES)('comparison of builds on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('shows what differs between two builds, without secret values', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    const common = { variables: { TARGET: 'staging', SAME: '1' }, secrets: { KEY: 'first-secret' }, branch: 'main' }
    const first = await run(scene, { ...common, revision: 'a'.repeat(40) }, 'sha256:1')
    clock.advance(1_000)
    const spec = RuntimeInput.parse({ name: 'local', type: 'fake', agent: 'agent', isDefault: true, spec: { capacity: 9 } })
    await putRuntime(app, { input: spec, changedBy: 'tester' })
    const document = HELLO.replace('echo two', 'echo three')
    const changed = { document, variables: { TARGET: 'production', SAME: '1', MORE: 'x' }, secrets: { KEY: 'second-secret' } }
    const second = await run(scene, { ...common, ...changed, revision: 'b'.repeat(40) }, 'sha256:2')
    const found = await compareBuilds(app, second, first)
    expect(found).toMatchObject({
      before: { id: first.id },
      after: { id: second.id },
      isSame: false,
      commit: { before: { revision: 'a'.repeat(40), branch: 'main' }, after: { revision: 'b'.repeat(40), branch: 'main' } },
      document: { before: HELLO, after: document },
      images: [{ step: 'one', before: { name: 'alpine', digest: 'sha256:1' }, after: { name: 'alpine', digest: 'sha256:2' } }],
      runtime: { before: { name: 'local', version: 1 }, after: { name: 'local', version: 2 } },
    })
    expect(found.variables.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
      { name: 'MORE', after: { level: 'build', value: 'x', isSecret: false } },
      {
        name: 'TARGET',
        before: { level: 'build', value: 'staging', isSecret: false },
        after: { level: 'build', value: 'production', isSecret: false },
      },
    ])
    expect(found.steps[0]).toEqual({
      name: 'one',
      before: { status: 'success', ms: expect.any(Number) },
      after: { status: 'success', ms: expect.any(Number) },
    })
    expect(JSON.stringify(found)).not.toMatch(/first-secret|second-secret/)
  })

  test('says that nothing differs', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const first = await run(scene, { variables: { A: '1' } }, 'sha256:1')
    const second = await run(scene, { variables: { A: '1' } }, 'sha256:1')
    const found = await compareBuilds(held.app, second, first)
    expect(found).toMatchObject({ isSame: true, variables: [], images: [] })
    for (const fact of ['commit', 'document', 'runtime']) expect(found).not.toHaveProperty(fact)
  })
})
