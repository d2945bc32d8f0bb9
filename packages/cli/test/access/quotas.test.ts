/** Quotas of projects and roles for pipelines, with the command line against a real server. */
import { expect, test } from 'vitest'
import { HELLO, openHttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

test('sets, shows and removes quotas of a project', async () => {
  await using scene = await openHttpScene()
  await scene.admin.projects.put('shop', { name: 'shop' })
  expect(await windlass(scene, ['set', 'quotas', 'shop', 'concurrency=2', 'logDays=14'])).toMatchObject({ code: 0 })
  expect(await windlass(scene, ['set', 'quotas', 'shop', 'maxLogBytes=1000', 'logDays-'])).toMatchObject({ code: 0 })
  expect((await scene.admin.projects.get('shop')).quotas).toEqual({ concurrency: 2, maxLogBytes: 1000 })
  const shown = await windlass(scene, ['get', 'quotas', 'shop'])
  expect(shown.text).toMatch(/^concurrency +2\nmaxLogBytes +1000\n$/)
  expect((await windlass(scene, ['get', 'projects', '-o', 'wide'])).text).toContain('concurrency=2,maxLogBytes=1000')
  const wrong = await windlass(scene, ['set', 'quotas', 'shop', 'concurency=2'])
  expect(wrong.code).toBe(2)
  expect(wrong.text).toContain('Did you mean "concurrency"?')
  expect((await windlass(scene, ['get', 'quotas', 'nowhere'])).text).toContain('Project "nowhere" does not exist.')
})

test('gives, shows and takes roles for pipelines', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await admin.pipelines.put('shop/app', { name: 'shop/app', document: HELLO })
  await windlass(scene, ['create', 'service-account', 'robot', '--role', 'none', '--pipeline', 'shop/app=viewer'])
  expect(await admin.users.get('robot')).toMatchObject({ projects: {}, pipelines: { 'shop/app': 'viewer' } })
  expect((await windlass(scene, ['set', 'role', 'robot', 'shop/app', 'developer', '--pipeline'])).text).toBe(
    'robot has the role developer for the pipeline shop/app.\n',
  )
  expect((await windlass(scene, ['get', 'users', '-o', 'wide'])).text).toContain('shop/app=developer')
  await windlass(scene, ['create', 'team', 'apps', '--pipeline', 'shop/app=maintainer', '--member', 'robot'])
  expect(await admin.teams.get('apps')).toMatchObject({ pipelines: { 'shop/app': 'maintainer' }, members: ['robot'] })
  expect((await windlass(scene, ['set', 'user', 'robot', '--pipeline', 'shop/app'])).text).toContain('--pipeline takes NAME=ROLE')
  await windlass(scene, ['set', 'role', 'robot', 'shop/app', 'none', '--pipeline'])
  expect(await admin.users.get('robot')).toMatchObject({ pipelines: {} })
})
