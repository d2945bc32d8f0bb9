/** A GitLab server with an authority of its own: the manager, the helper and its transfers trust it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLUSTER_HOST } from '../support/cluster.ts'
import { selfSigned } from '../support/self-signed.ts'
import { openRunnerScene, type RunnerScene } from './support/runner-scene.ts'

let scene: RunnerScene
beforeAll(async () => {
  scene = await openRunnerScene(`gitlab-authority-${process.pid}`, { tls: await selfSigned(CLUSTER_HOST) })
  await scene.startManager()
})
afterAll(() => scene?.close())

test('jobs are fetched and artifacts go both ways over TLS with a private authority (G094)', async () => {
  const artifacts = [{ name: 'build', paths: ['out'], when: 'on_success', artifact_type: 'archive', artifact_format: 'zip' }]
  const made = await scene.ended(scene.enqueue(['echo one >out', 'grep -c CERTIFICATE "$CI_SERVER_TLS_CA_FILE"'], { artifacts }))
  expect(made.final, made.trace.toString()).toMatchObject({ state: 'success' })
  expect(made.uploads).toHaveLength(1)
  const { id, token } = made.payload
  const dependencies = [{ id, token, name: 'made', artifacts_file: { filename: 'build.zip', size: 100 } }]
  const used = await scene.ended(scene.enqueue(['cat out'], { dependencies }))
  expect(used.final, used.trace.toString()).toMatchObject({ state: 'success' })
})
