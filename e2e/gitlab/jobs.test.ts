/** Jobs of GitLab on a real Kubernetes, offered by a fake coordinator that keeps to the rules of GitLab. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRunnerScene, type RunnerScene } from './support/runner-scene.ts'
import { eventually } from '../support/installation.ts'

let scene: RunnerScene
beforeAll(async () => {
  scene = await openRunnerScene(`gitlab-jobs-${process.pid}`)
  await scene.startManager()
})
afterAll(() => scene?.close())

test('a job runs in a pod with its sources, and leaves nothing', async () => {
  const job = await scene.ended(scene.enqueue(['cat greeting.txt', 'echo "$CI_JOB_STATUS in $CI_PROJECT_DIR"']))
  const trace = job.trace.toString()
  expect(job.final, trace).toMatchObject({ state: 'success' })
  expect(trace).toContain('hello from the repository')
  expect(trace).toContain('running in /builds/demo/app')
  expect(trace).toContain('Job succeeded')
  console.log(trace)
  await eventually('pods and secrets are gone', async () =>
    [...(await scene.names('pods')), ...(await scene.names('secrets'))].length === 0 ? true : undefined,
  )
})
