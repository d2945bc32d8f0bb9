import { Build, page, StepTypeResource } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

function greet(version: string, image = 'alpine'): string {
  return `version: '1.0'
kind: step-type
metadata:
  name: acme/greet
  version: ${version}
  description: Greets someone.
spec:
  arguments: '{"type":"object","additionalProperties":false,"required":["WHO"],"properties":{"WHO":{"type":"string"},"HOW":{"type":"string","default":"hi"}}}'
  steps:
    main:
      image: ${image}
      commands: ['echo \${{HOW}} \${{WHO}}']
`
}

function useOf(type: string, args = '{WHO: you}'): string {
  return `version: '1.0'\nsteps:\n  hello:\n    type: ${type}\n    arguments: ${args}\n`
}

async function create(scene: HttpScene, manifest: string): Promise<StepTypeResource> {
  return scene.admin.call('POST', '/v1/step-types', StepTypeResource, { body: { manifest } })
}

const path = (name: string): string => `/v1/step-types/${encodeURIComponent(name)}`

test('creates, lists by version, replaces and deletes step types (P170)', async () => {
  await using scene = await openHttpScene()
  await create(scene, greet('1.0.0'))
  await create(scene, greet('1.10.0'))
  await create(scene, greet('1.9.0'))
  await create(scene, greet('2.0.0-beta.1'))
  await expect(create(scene, greet('1.0.0'))).rejects.toMatchObject({ code: 'conflict' })
  await expect(create(scene, greet('one'))).rejects.toMatchObject({
    code: 'document-invalid',
    details: { problems: [{ line: 5 }] },
  })
  const list = await scene.admin.call('GET', '/v1/step-types', page(StepTypeResource))
  expect(list.items.find(({ name }) => name === 'acme/greet')).toMatchObject({ version: '1.10.0', versions: 4, builtIn: false })
  const versions = await scene.admin.call('GET', `${path('acme/greet')}/versions`, page(StepTypeResource))
  expect(versions.items.map(({ version }) => version)).toEqual(['1.10.0', '1.9.0', '1.0.0', '2.0.0-beta.1'])
  const replaced = await scene.admin.call('PUT', path('acme/greet:1.0.0'), StepTypeResource, {
    body: { manifest: greet('1.0.0', 'busybox') },
  })
  expect(replaced.manifest).toContain('busybox')
  const other = scene.admin.call('PUT', path('acme/greet:1.0.1'), StepTypeResource, { body: { manifest: greet('1.0.0') } })
  await expect(other).rejects.toMatchObject({ code: 'request-invalid' })
  await expect(scene.admin.text('DELETE', path('acme/greet'))).rejects.toMatchObject({ code: 'request-invalid' })
  await scene.admin.text('DELETE', path('acme/greet:1.10.0'))
  expect(await scene.admin.call('GET', path('acme/greet'), StepTypeResource)).toMatchObject({ version: '1.9.0' })
  await expect(scene.admin.call('GET', path('acme/greet:1.10.0'), StepTypeResource)).rejects.toMatchObject({ code: 'not-found' })
})

test('uses the latest release if no version is given, and reports it in the feed and a warning (P169)', async () => {
  await using scene = await openHttpScene()
  await create(scene, greet('1.2.0', 'alpine:old'))
  await create(scene, greet('1.10.0', 'alpine:new'))
  await create(scene, greet('2.0.0-rc.1', 'alpine:early'))
  const { engine, build } = await scene.start({ document: useOf('acme/greet') })
  const images = engine.claimed.plan.steps.flatMap(({ action }) => (action.kind === 'freestyle' ? [action.image] : []))
  expect(images).toEqual(['alpine:new'])
  const shown = await scene.admin.call('GET', `/v1/builds/${build.id}`, Build)
  expect(shown.problems).toMatchObject([{ severity: 'warning', message: expect.stringContaining('Step version not specified') }])
  for await (const { data } of scene.admin.events(`/v1/builds/${build.id}/follow`)) {
    if (!data.includes('build.resolved')) continue
    expect(JSON.parse(data)).toMatchObject({ data: { stepTypes: [{ name: 'acme/greet', version: '1.10.0' }] } })
    break
  }
})

test('invalid arguments end the build with the position of each (P166)', async () => {
  await using scene = await openHttpScene()
  await create(scene, greet('1.0.0'))
  const build = await scene.submit({ document: useOf('acme/greet:1.0.0', '{HOW: 5, LOUD: true}') })
  expect(build).toMatchObject({ status: 'error', reason: 'invalid-pipeline' })
  const { problems } = await scene.admin.call('GET', `/v1/builds/${build.id}`, Build)
  expect(problems?.map(({ line, message }) => `${line} ${message}`).toSorted()).toEqual([
    '3 "WHO" is required',
    '5 "HOW" must be string. Current value: 5',
    '5 "LOUD" is not allowed',
  ])
  const unknown = await scene.submit({ document: useOf('acme/gret:1.0.0') })
  expect(unknown.message).toContain('Did you mean "acme/greet"?')
})

test('a restart uses the manifests of the first run, even if they were replaced since', async () => {
  await using scene = await openHttpScene()
  await create(scene, greet('1.0.0', 'alpine:first'))
  const { build, engine } = await scene.start({ document: useOf('acme/greet') })
  await engine.succeed()
  for (const task of await scene.agent.claim()) await scene.agent.report(task, 'done')
  await scene.admin.call('PUT', path('acme/greet:1.0.0'), StepTypeResource, {
    body: { manifest: greet('1.0.0', 'alpine:second') },
  })
  await create(scene, greet('3.0.0', 'alpine:third'))
  const again = await scene.start({ restartOf: build.id, document: undefined })
  const images = again.engine.claimed.plan.steps.flatMap(({ action }) => (action.kind === 'freestyle' ? [action.image] : []))
  expect(images).toEqual(['alpine:first'])
})
