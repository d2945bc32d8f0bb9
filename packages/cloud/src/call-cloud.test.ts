/** Tries of calls to a cloud. */
import { systemClock, type Clock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openFakeCloud } from '../../../e2e/support/fake-cloud.ts'
import { callCloud, readJsonError } from './call-cloud.ts'

/** Returns a clock on which each try takes this time. Milliseconds. */
function clockOf(tryMs: number): Clock {
  let now = 0
  return { ...systemClock, sleep: async () => undefined, monotonic: () => (now += tryMs) }
}

test.each([
  { what: 'a metadata service whose address swallows packets', isMetadata: true, tryMs: 2_000, tries: 2 },
  { what: 'a metadata service that fails fast', isMetadata: true, tryMs: 10, tries: 5 },
  { what: 'another service that is slow', isMetadata: false, tryMs: 20_000, tries: 5 },
])('$what is tried $tries times', async ({ isMetadata, tryMs, tries }) => {
  await using cloud = await openFakeCloud(() => ({ status: 503, body: {} }))
  const request = { method: 'GET', url: cloud.url, headers: {} }
  const call = { provider: 'test', action: 'get', request, readError: readJsonError, isMetadata }
  await expect(callCloud(clockOf(tryMs), call, AbortSignal.timeout(30_000))).rejects.toMatchObject({
    code: 'storage-unreachable',
  })
  expect(cloud.asked).toHaveLength(tries)
})
