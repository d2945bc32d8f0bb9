/** What `describe build` says about each lost attempt of a build. */
import { expect, test } from 'vitest'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { startEngine } from '../../../server/test/support/fakes/fake-agent.ts'
import { windlass } from '../windlass.ts'

const NODE_GONE = 'The node of the engine is gone.'
const NO_DISK = 'The disk of the daemon was deleted.'

test('shows for each lost attempt its first cause, and whether the build was retried', async () => {
  await using scene = await openHttpScene()
  const { build } = await scene.start()
  const lost = { buildId: build.id, object: 'engine-x', state: 'lost', reason: 'node-lost' }
  await scene.agent.fact({ ...lost, attempt: 1, message: NODE_GONE })
  await scene.agent.fact({ buildId: build.id, attempt: 1, state: 'gone' })
  const task = await nextStart()
  const engine = await startEngine(scene.server.url, task)
  await scene.agent.report(task, 'done')
  // The permanent loss is known before the engine reports its end, which by itself would lead to a retry.
  await scene.agent.fact({ ...lost, attempt: 2, message: NO_DISK, permanent: true, engineMayReport: true })
  await engine.finish({ status: 'error', reason: 'engine-lost', message: 'The engine was restarted.' })

  const shown = await scene.admin.builds.get(build.id)
  expect(shown).toMatchObject({ status: 'error', reason: 'node-lost', message: NO_DISK, retries: 1 })
  expect(shown.attempts).toMatchObject([
    { number: 1, result: 'lost', reason: 'node-lost', message: NODE_GONE, retryDecision: 'retried' },
    { number: 2, result: 'lost', reason: 'node-lost', message: NO_DISK, retryDecision: 'permanent' },
  ])
  const { text } = await windlass(scene, ['describe', 'build', build.id])
  expect(text).toMatch(new RegExp(`^1 +ended +lost .*node-lost: ${NODE_GONE} \\(retried\\)$`, 'm'))
  expect(text).toMatch(new RegExp(`^2 .* lost .*node-lost: ${NO_DISK} \\(not retried: another attempt would not help\\)$`, 'm'))

  async function nextStart() {
    for (;;) {
      for (const next of await scene.agent.claim()) if (next.kind === 'start-attempt' && next.attempt === 2) return next
    }
  }
})
