/** Renewal of tokens of Google and Azure; for AWS it is in `../test/aws-credentials.test.ts`. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock, systemClock, type Clock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { openFakeCloud } from '../../../e2e/support/fake-cloud.ts'
import { azureAccess } from './azure-access.ts'
import { cached } from './cached.ts'
import { googleAccess } from './google-access.ts'

interface Renewed {
  readonly token: string
  readonly expiresAt?: number
}

type Access = (signal: AbortSignal) => Promise<{ readonly token: string }>

const signal = AbortSignal.timeout(60_000)

async function azure(clock: Clock, metadataUrl: string): Promise<Access> {
  const dir = await mkdtemp(join(tmpdir(), 'cloud-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const path = join(dir, 'azure.json')
  const config = { subscriptionId: 'sub', resourceGroup: 'g', location: 'westeurope', useManagedIdentityExtension: true }
  await writeFile(path, JSON.stringify(config))
  return azureAccess({ env: { AZURE_CREDENTIAL_FILE: path }, clock, metadataUrl })
}

test.each([
  ['Google', async (clock: Clock, metadataUrl: string): Promise<Access> => googleAccess({ env: {}, clock, metadataUrl })],
  ['Azure', azure],
])('shares one renewal of a token of %s, and uses the old token until it expires if a renewal fails', async (_, open) => {
  const clock = manualClock(systemClock.now())
  let status = 200
  let tokens = 0
  await using cloud = await openFakeCloud(({ path }) => {
    if (path.endsWith('project-id')) return { body: 'acme' }
    tokens += 1
    return { status, body: { access_token: `token-${tokens}`, expires_in: 3600 } }
  })
  const ask = await open(clock, cloud.url)
  const three = await Promise.all([ask(signal), ask(signal), ask(signal)])
  expect(three.map(({ token }) => token)).toEqual(['token-1', 'token-1', 'token-1'])
  status = 400
  clock.advance(3_400_000)
  expect(await ask(signal)).toMatchObject({ token: 'token-1' })
  status = 200
  expect(await ask(signal)).toMatchObject({ token: 'token-3' })
  status = 400
  clock.advance(3_700_000)
  await expect(ask(signal)).rejects.toMatchObject({ code: 'storage-refused' })
})

test('renews for the other callers if the one that started the renewal gives up', async () => {
  let calls = 0
  const get = cached<Renewed>(manualClock(), (given) => {
    calls += 1
    if (calls > 1) return Promise.resolve({ token: 'token-2' })
    return new Promise<Renewed>((_, reject) => given.addEventListener('abort', () => reject(given.reason as Error)))
  })
  const stop = new AbortController()
  const first = get(stop.signal)
  const second = get(signal)
  stop.abort()
  await expect(first).rejects.toMatchObject({ name: 'AbortError' })
  expect(await second).toEqual({ token: 'token-2' })
  expect(calls).toBe(2)
})
