import { expect, test } from 'vitest'
import { composeFailure } from './project.ts'

test.each([
  ['Error response from daemon: mkdir /var/lib/docker/overlay2/x: no space left on device', 'disk-full'],
  ['Error response from daemon: invalid mount config', 'composition-failed'],
  ['service "no space left on device" has no image', 'composition-failed'],
])('maps the error of compose to a reason: %s', (line, reason) => {
  expect(composeFailure(` Container x  Creating\n${line}\n`, 'composition-failed')).toMatchObject({
    reason,
    message: expect.stringContaining(line),
  })
})
