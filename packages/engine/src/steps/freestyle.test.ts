import { fault, silentLog, systemClock } from '@windlass/kit'
import type { ResolvedFreestyle } from '@windlass/plan'
import { expect, test } from 'vitest'
import { fakeDocker, IMAGE } from '../../test/support/fake-docker.ts'
import type { StepRun } from '../attempt/context.ts'
import { openStepImages } from '../attempt/step-images.ts'
import { runFreestyle } from './freestyle.ts'

/** Returns a step on a daemon whose image disappears after its inspection. With `isPulled`, a pull brings it back. */
function openStep(isPulled: boolean) {
  const calls: string[] = []
  let isPresent = true
  const docker = fakeDocker({
    async inspectImage() {
      return isPresent ? IMAGE : undefined
    },
    async pullImage() {
      calls.push('pull')
      if (!isPulled) throw fault('docker-refused', { message: 'manifest unknown', dockerStatus: 404 })
      isPresent = true
    },
    async createContainer() {
      calls.push('create')
      if (!isPresent) throw fault('docker-refused', { message: `No such image: ${IMAGE.id}`, dockerStatus: 404 })
      return 'c'
    },
  })
  const { signal } = new AbortController()
  const common = { docker, clock: systemClock, log: silentLog }
  const context = {
    ...common,
    images: openStepImages({ ...common, registries: [], signal }),
    input: { buildId: '65a1b2c3d4e5f60718293a4b', attempt: 1, plan: { steps: [] }, limits: { stopGraceMs: 1 } },
    workspace: { mounts: [], relink: async () => undefined },
    namespaces: { withNamespace: (work: (network: string) => unknown) => work('bridge') },
    cleanups: new Set(),
  }
  const output = { say: async () => undefined, write: async () => undefined }
  const action = { kind: 'freestyle', image: 'alpine:3', commands: ['true'], shell: 'sh', mounts: [] }
  const step = { name: 'one', environment: {} }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what a step uses
  const run = { context, step, action, output, signal } as unknown as StepRun<ResolvedFreestyle>
  const remove = (): void => void (isPresent = false)
  return { run, calls, remove }
}

test('a step pulls its image again if the daemon removed it after the prefetch', async () => {
  const { run, calls, remove } = openStep(true)
  run.context.images.prefetch({ name: 'alpine:3' })
  await systemClock.sleep(20)
  remove()
  expect(await runFreestyle(run)).toMatchObject({ status: 'success', exitCode: 0 })
  expect(calls).toEqual(['create', 'pull', 'create'])
})

test('a step whose image is removed and cannot be pulled again has no image', async () => {
  const { run, calls, remove } = openStep(false)
  run.context.images.prefetch({ name: 'alpine:3' })
  await systemClock.sleep(20)
  remove()
  await expect(runFreestyle(run)).rejects.toMatchObject({ reason: 'image-not-found' })
  expect(calls).toEqual(['create', 'pull'])
})
