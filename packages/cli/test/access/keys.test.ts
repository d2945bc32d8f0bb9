import { expect, test } from 'vitest'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

test('get keys shows all keys or one, and suggests the nearest name', async () => {
  await using scene = await openHttpScene()
  expect(await windlass(scene, ['create', 'key', 'deploy', '--role', 'viewer'])).toMatchObject({ code: 0 })
  expect((await windlass(scene, ['get', 'keys', '-o', 'name'])).text.split('\n').filter((line) => line !== '')).toHaveLength(2)
  const one = await windlass(scene, ['get', 'key', 'deploy', '--no-headers'])
  expect(one).toMatchObject({ code: 0, text: expect.stringMatching(/^deploy +admin +viewer /) })
  const missing = await windlass(scene, ['get', 'key', 'deplay'])
  expect(missing).toMatchObject({ code: 3, text: expect.stringContaining('Did you mean "deploy"?') })
  expect(await windlass(scene, ['delete', 'key', 'deploy'])).toMatchObject({ code: 0 })
})
