/** The report of a log whose end was lost with its engine. */
import { engineCalls } from '@windlass/client/engine'
import { expect, test } from 'vitest'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

test('`logs` and `describe build` report the missing bytes of a lost attempt, only at the end of its step', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  await engine.event({ type: 'step.started', step: 'hello', try: 1 })
  await engine.log('step/hello', 'before\n')
  await engineCalls(engine.client).heartbeat({ spooled: { 'step/hello': 2_055 } })
  const lost = { buildId: build.id, attempt: 1, object: 'engine-x', state: 'lost', reason: 'node-lost', permanent: true }
  await scene.agent.fact(lost)

  const words = 'The log of attempt 1 is incomplete: it ends at byte 7, and at least 2048 bytes were lost with the engine.'
  expect((await windlass(scene, ['logs', build.id])).text).toMatch(new RegExp(`before\n[^]*was lost[^]*! ${words}`))
  expect((await windlass(scene, ['logs', '-f', build.id])).text).toContain(`! ${words}`)
  expect((await windlass(scene, ['logs', build.id, '--step', 'hello'])).text).toContain(`before\n! ${words}`)
  const { text } = await windlass(scene, ['describe', 'build', build.id])
  expect(text).toContain('Attempt 1, step/hello: the log ends at byte 7; at least 2 KiB are missing.')
})
