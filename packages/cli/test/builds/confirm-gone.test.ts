/** A destroyed cluster: an admin confirms it on the command line, and its builds run again elsewhere. */
import { engineCalls } from '@windlass/client/engine'
import { expect, test } from 'vitest'
import { helloAgent } from '../../../server/test/support/fakes/fake-agent.ts'
import { openHttpScene, type HttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

async function loseAttempt(scene: HttpScene, buildId: string): Promise<void> {
  await scene.agent.fact({ buildId, attempt: 1, object: 'engine', state: 'lost', reason: 'node-lost', message: 'no such node' })
}

test('confirm-gone lets a build of a destroyed cluster run again, and only for an admin', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  const early = await windlass(scene, ['confirm-gone', build.id])
  expect(early.code).toBe(1)
  expect(early.text).toMatch(/is not lost[\s\S]*windlass terminate/)
  await loseAttempt(scene, build.id)
  await expect(engineCalls(engine.client).heartbeat({})).rejects.toMatchObject({
    code: 'attempt-stale',
  })
  const user = await scene.admin.keys.create({ name: 'u', role: 'developer' })
  expect((await windlass(scene, ['confirm-gone', build.id], user.token)).text).toContain('does not allow this call')
  const confirmed = await windlass(scene, ['confirm-gone', build.id, '--attempt', '1'])
  expect(confirmed).toMatchObject({ code: 0, text: expect.stringContaining('attempt 1 is gone') })
  const [task] = await scene.agent.claim()
  expect(task).toMatchObject({ kind: 'start-attempt', buildId: build.id, attempt: 2 })
  expect(await windlass(scene, ['confirm-gone', build.id, '--attempt', '9'])).toMatchObject({ code: 3 })
})

test('delete agent --force gives up its attempts, and their builds run on another agent', async () => {
  await using scene = await openHttpScene()
  const { build } = await scene.start()
  await loseAttempt(scene, build.id)
  expect(await windlass(scene, ['delete', 'pipeline', 'x', '--force'])).toMatchObject({ code: 2 })
  expect(await windlass(scene, ['delete', 'agent', 'agent', '--force'])).toMatchObject({ code: 0 })
  const { token } = await scene.admin.agents.create({ name: 'agent' })
  const agent = await helloAgent(scene.server.url, token)
  const [task] = await agent.claim()
  expect(task).toMatchObject({ kind: 'start-attempt', buildId: build.id, attempt: 2 })
  expect(await scene.admin.builds.get(build.id)).toMatchObject({ attempt: 2 })
  expect(await scene.admin.runtimes.get('local')).toMatchObject({ name: 'local' })
})
