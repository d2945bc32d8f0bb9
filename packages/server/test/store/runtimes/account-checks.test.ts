import { ContextInput } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { putAccountSettings, readAccountSettings } from '../../../src/account/settings.ts'
import type { App } from '../../../src/app.ts'
import { putContext } from '../../../src/contexts/contexts.ts'
import { openScene, show, submit } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

function document(...lines: string[]): string {
  return ["version: '1.0'", 'steps:', '  it:', ...lines.map((line) => `    ${line}`), ''].join('\n')
}

async function addRegistry(app: App, name: string, isDefault: boolean): Promise<void> {
  const input = ContextInput.parse({
    name,
    type: 'registry',
    isDefault,
    data: { domain: 'r.example.com', password: 'hidden-value' },
  })
  await putContext(app, { input, mustBeNew: true })
}

describe.each(DATABASES)('account checks of builds on $name (P175)', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('ends a build before it runs if a step refers to an unknown integration', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await addRegistry(held.app, 'hub', false)
    const push = document('type: push', 'candidate: x', 'registry: hug')
    const build = await submit(scene, { document: push, file: 'ci.yml' })
    expect(await show(held.app, build.id)).toMatchObject({
      status: 'error',
      reason: 'invalid-pipeline',
      message: 'ci.yml:6:15 registry integration "hug" does not exist. Did you mean "hub"?',
      problems: [{ line: 6, column: 15, code: 'registry-unknown', severity: 'error' }],
    })
    await addRegistry(held.app, 'hug', false)
    expect(await show(held.app, (await submit(scene, { document: push })).id)).toMatchObject({ status: 'pending' })
  })

  test('adds only a warning to a build if the step may never run', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const build = await submit(scene, {
      document: document('type: push', 'candidate: x', 'registry: hub', 'when: { branch: { only: [main] } }'),
    })
    expect(await show(held.app, build.id)).toMatchObject({
      status: 'pending',
      problems: [{ code: 'registry-missing', severity: 'warning' }],
    })
  })

  test('ends a build that deploys to an unknown cluster', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const deploy = document('type: deploy', 'kind: kubernetes', 'cluster: prod', 'namespace: n', 'service: s')
    expect(await show(held.app, (await submit(scene, { document: deploy })).id)).toMatchObject({
      status: 'error',
      problems: [{ code: 'cluster-missing', message: 'the account has no cluster to deploy to' }],
    })
  })

  test('treats variables of the build as defined and warns about others', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await addRegistry(held.app, 'hub', true)
    const push = document('type: push', 'candidate: x', 'registry: "${{TARGET}}"')
    const known = await submit(scene, { document: push, variables: { TARGET: 'hub' } })
    expect((await show(held.app, known.id)).problems).toBeUndefined()
    const unknown = await submit(scene, { document: push })
    expect(await show(held.app, unknown.id)).toMatchObject({
      status: 'pending',
      problems: [
        { code: 'registry-variable', severity: 'warning', message: '"registry" refers to the undefined variable "TARGET"' },
      ],
    })
  })

  test('does not warn about missing registries in an account that never pushes images', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = document('type: build', 'image_name: x')
    const problems = (await show(app, (await submit(scene, { document: build })).id)).problems
    expect(problems).toMatchObject([{ code: 'registry-none', severity: 'warning' }])
    await putAccountSettings(app, { ...(await readAccountSettings(app.store.query, app.accountId)), autoPush: 'never' })
    expect((await show(app, (await submit(scene, { document: build })).id)).problems).toBeUndefined()
  })

  test('inlines a stored composition of type yaml into the plan when the build is created (P068)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const stack = { name: 'stack', type: 'yaml', data: { services: { db: { image: 'd', ports: [1] } } } }
    await putContext(app, { input: ContextInput.parse(stack), mustBeNew: true })
    const lines = ['type: composition', 'composition: stack', 'composition_candidates: { t: { image: x } }']
    const build = await submit(scene, { document: document(...lines) })
    const { plan } = await app.store.query
      .selectFrom('build_plan')
      .select('plan')
      .where('build_id', '=', build.id)
      .executeTakeFirstOrThrow()
    expect(JSON.parse(plan ?? '').steps[0].action.compose).toEqual({ inline: stack.data })
    const other = await submit(scene, { document: document(...lines).replace('stack', './stack.yml') })
    const row = await app.store.query
      .selectFrom('build_plan')
      .select('plan')
      .where('build_id', '=', other.id)
      .executeTakeFirstOrThrow()
    expect(JSON.parse(row.plan ?? '').steps[0].action.compose).toEqual({ path: './stack.yml' })
  })
})
