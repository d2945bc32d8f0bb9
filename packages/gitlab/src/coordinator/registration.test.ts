import { expect, test } from 'vitest'
import { openPair, TOKEN } from '../../../../e2e/gitlab/support/coordinator-pair.ts'

const SYSTEM = { systemId: 's_1' }

test('registers with a registration token', async () => {
  const { fake, client } = await openPair({ client: { token: 'GR1348941secret' }, tokenExpiresAt: '2026-02-01T00:00:00.000Z' })
  const runner = await client.register({
    ...SYSTEM,
    description: 'ci',
    tags: ['linux', 'arm'],
    maximumTimeout: 600,
    accessLevel: 'ref_protected',
    locked: false,
  })
  expect(runner).toEqual({ id: 1, token: 'registered-token-1', tokenExpiresAt: '2026-02-01T00:00:00.000Z' })
  const [request] = fake.requests
  expect(request).toMatchObject({ method: 'POST', path: 'runners' })
  expect(request?.json).toMatchObject({
    token: 'GR1348941secret',
    description: 'ci',
    maintenance_note: '',
    tag_list: 'linux,arm',
    run_untagged: false,
    locked: false,
    access_level: 'ref_protected',
    maximum_timeout: 600,
    paused: false,
    info: { executor: 'kubernetes' },
  })
  await client.register({ ...SYSTEM, runUntagged: false })
  expect(fake.requests[1]?.json).toMatchObject({ tag_list: '', run_untagged: true })
})

test('only verifies a runner authentication token, and refuses settings that belong to GitLab', async () => {
  const { fake, client } = await openPair()
  await expect(client.register({ ...SYSTEM, locked: true, tags: ['a'] })).rejects.toThrow(/is reserved: --locked, --tag-list/)
  expect(fake.requests).toEqual([])
  expect(await client.register({ ...SYSTEM, description: 'ci' })).toEqual({ id: 7, token: TOKEN, tokenExpiresAt: undefined })
  await client.register({ ...SYSTEM, tags: ['a'], ignoreReserved: true })
  expect(fake.requests.map(({ path }) => path)).toEqual(['runners/verify', 'runners/verify'])
  expect(fake.requests[0]?.json).toMatchObject({
    token: TOKEN,
    system_id: 's_1',
    info: { features: { cancel_gracefully: true } },
  })
})

test('a wrong token is a refusal with a hint, also without an ID', async () => {
  const { fake, client } = await openPair()
  fake.next('verify', { status: 200, body: { id: 0, token: TOKEN } })
  await expect(client.register(SYSTEM)).rejects.toMatchObject({ code: 'forge-refused' })
  fake.revoke(TOKEN)
  await expect(client.register(SYSTEM)).rejects.toThrow('GitLab did not verify the runner: the token is not valid')
  const legacy = await openPair({ registrationToken: 'other', client: { token: 'wrong' } })
  await expect(legacy.client.register(SYSTEM)).rejects.toThrow('GitLab did not register the runner: 403 Forbidden.')
})

test('verify tells a wrong token from a server that does not say', async () => {
  const { fake, client } = await openPair()
  fake.next('verify', { status: 200, headers: { 'content-type': 'text/plain' }, body: 'OK' })
  expect(await client.verify('s_1')).toMatchObject({ type: 'valid', runner: { id: 0, token: TOKEN } })
  fake.next('verify', { status: 404 })
  expect(await client.verify('s_1')).toEqual({ type: 'unknown', reason: '404 Not Found' })
  fake.revoke(TOKEN)
  expect(await client.verify('s_1')).toEqual({ type: 'invalid' })
})

test('deletes the runner or only its manager', async () => {
  const { fake, client } = await openPair()
  await client.unregister()
  await client.unregisterManager('s_1')
  expect(fake.requests.map(({ method, path, json }) => [method, path, json])).toEqual([
    ['DELETE', 'runners', { token: TOKEN }],
    ['DELETE', 'runners/managers', { token: TOKEN, system_id: 's_1' }],
  ])
  fake.revoke(TOKEN)
  await expect(client.unregister()).rejects.toMatchObject({ code: 'forge-refused' })
})

test('resets the token, its own or that of any runner with a personal access token', async () => {
  const { fake, client } = await openPair({ tokenExpiresAt: '2026-02-01T00:00:00.000Z' })
  expect(await client.resetToken()).toEqual({ token: 'glrt-renewed-1', tokenExpiresAt: '2026-02-01T00:00:00.000Z' })
  expect(await client.resetTokenById(7, 'glpat-x')).toMatchObject({ token: 'glrt-renewed-2' })
  expect(fake.requests.map(({ path }) => path)).toEqual([
    'runners/reset_authentication_token',
    'runners/7/reset_authentication_token',
  ])
  fake.revoke(TOKEN)
  await expect(client.resetToken()).rejects.toMatchObject({ code: 'forge-refused' })
})
