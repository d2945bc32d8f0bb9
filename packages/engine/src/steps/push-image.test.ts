import { fault, systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { fakeDocker } from '../../test/support/fake-docker.ts'
import type { StepRun } from '../attempt/context.ts'
import { pushAll } from './push-image.ts'

/** Pushes an image to a daemon with these answers. Returns the calls and the failure, if any. */
async function push(answers: Readonly<Record<string, () => unknown>>) {
  const calls: string[] = []
  const counted = Object.entries(answers).map(([name, answer]) => [name, async () => (calls.push(name), answer())] as const)
  const context = { docker: fakeDocker(Object.fromEntries(counted)), clock: { ...systemClock, sleep: async () => undefined } }
  const run = { context, output: { say: async () => undefined }, signal: new AbortController().signal }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what a push uses
  const pushed = pushAll(run as unknown as StepRun, { image: 'i', repository: 'r/x', tags: ['1'], login: undefined })
  const failure: unknown = await pushed.then(
    () => undefined,
    (error: unknown) => error,
  )
  return { calls, failure }
}

const refuse = (message: string, dockerStatus?: number) => (): never => {
  throw fault('docker-refused', { message, ...(dockerStatus !== undefined && { dockerStatus }) })
}

test('a tag that does not fit on the disk of the daemon is no failed push', async () => {
  const tagImage = refuse('write /var/lib/docker/image/overlay2/.tmp-repositories.json: no space left on device', 500)
  const { calls, failure } = await push({ tagImage })
  expect(failure).toMatchObject({ reason: 'disk-full', message: expect.stringMatching(/^r\/x:1 cannot be pushed: write /) })
  expect(calls).toEqual(['tagImage'])
})

test('a registry whose disk is full is a failed push', async () => {
  const { calls, failure } = await push({ pushImage: refuse('received unexpected HTTP status: 500: no space left on device') })
  expect(failure).toMatchObject({ reason: 'push-failed' })
  expect(calls).toHaveLength(4)
})

test('an image that the daemon no longer has is left to the caller, which pulls it again', async () => {
  const { calls, failure } = await push({ tagImage: refuse('No such image: i', 404) })
  expect(failure).toMatchObject({ code: 'docker-refused' })
  expect(calls).toEqual(['tagImage'])
})
