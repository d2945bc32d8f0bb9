import { fault } from '@windlass/kit'
import type { ResolvedFreestyle } from '@windlass/plan'
import { expect, test } from 'vitest'
import { toStepFailure, toUnknownFailure } from './failures.ts'

test.each([
  [500, 'failed to create shim task: OCI runtime create failed: mkdir /run/a: no space left on device', 'disk-full'],
  [500, 'write /var/lib/docker/containers/a/config.v2.json: no space left on device', 'disk-full'],
  [500, 'layer does not exist', 'dind-lost'],
  [500, 'OCI runtime create failed: runc create failed: unable to start container process', 'invalid-step'],
  [400, 'invalid mount config', 'invalid-step'],
])('a refusal with status %i, "%s", is %s', (dockerStatus, message, reason) => {
  const failure = toUnknownFailure('The container cannot be run', fault('docker-refused', { message, dockerStatus }))
  expect(failure).toMatchObject({ reason, message: `The container cannot be run: ${message}.` })
})

test('a mount that fails because the disk is full is not an invalid mount', () => {
  const message = 'error mounting "/usr/bin/docker-init" to rootfs: create mount destination: no space left on device'
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the message does not depend on the action
  const action = { image: 'x' } as ResolvedFreestyle
  expect(toStepFailure(fault('docker-refused', { message, dockerStatus: 400 }), action)).toMatchObject({ reason: 'disk-full' })
})
