import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@windlass/kit'
import { buildScope, emptySnapshot, substitute, type Plan } from '@windlass/plan'
import type { SecretStoreAccess } from '@windlass/protocol'
import { expect, test } from 'vitest'
import type { AttemptInput } from '../attempt/input.ts'
import { readStoreSecrets } from './secret-stores.ts'

/** Starts a store with the HTTP API of Vault's KV engine, given as path -> values. The first `failures` responses are 503. */
async function openStore(secrets: Readonly<Record<string, object>>, failures = 0) {
  const calls: string[] = []
  let left = failures
  const server = createServer((request, response) => {
    calls.push(request.url ?? '')
    const data = secrets[decodeURIComponent(request.url ?? '').replace('/v1/secret/data/', '')]
    left -= 1
    response.statusCode = left >= 0 ? 503 : request.headers['x-vault-token'] !== 'good' ? 403 : data === undefined ? 404 : 200
    response.end(JSON.stringify(response.statusCode === 200 ? { data: { data, metadata: { version: 1 } } } : { errors: [] }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  return { url, calls, [Symbol.dispose]: () => void server.close() }
}

function inputOf(texts: readonly string[], stores: readonly Partial<SecretStoreAccess>[]): AttemptInput {
  const plan: Plan = {
    planVersion: 1,
    mode: 'serial',
    stages: [],
    failFast: true,
    strictFailFast: false,
    steps: [],
    variables: [{ level: 'pipeline', variables: Object.fromEntries(texts.map((value, index) => [`V${index}`, { value }])) }],
  }
  return {
    buildId: '0'.repeat(24),
    attempt: 1,
    plan,
    snapshot: emptySnapshot(plan),
    secrets: {},
    git: [],
    registries: [],
    limits: { stepLogBytes: 1, buildLogBytes: 1, heartbeatMs: 1, stopGraceMs: 1 },
    userAccess: false,
    resetVolume: false,
    noCache: false,
    volumeName: 'v',
    secretStores: stores.map((store) => ({ context: 'vault', url: '', token: 'good', mount: 'secret', ...store })),
  }
}

const read = (input: AttemptInput) => readStoreSecrets({ input, clock: systemClock, signal: new AbortController().signal })

test('resolves references to secret stores in texts and variables, reading each secret once (P133)', async () => {
  using store = await openStore({ 'team/app': { token: 't-1', port: 8080 }, 'other/one': { key: 'k-2' } })
  const input = inputOf(
    ['a ${{secrets.vault.token}} b', '${{ secrets.vault.port }}', '${{secrets.free.other/one@key}}'],
    [
      { url: store.url, path: 'team/app' },
      { context: 'free', url: `${store.url}/` },
    ],
  )
  const ready = await read(input)
  if (!('input' in ready)) throw new Error(JSON.stringify(ready))
  const scope = buildScope({ plan: ready.input.plan, snapshot: ready.input.snapshot, secrets: ready.input.secrets })
  expect(['V0', 'V1', 'V2'].map((name) => substitute(`\${{${name}}}`, scope).text)).toEqual(['a t-1 b', '8080', 'k-2'])
  expect(Object.keys(scope.environment()).filter((name) => name.startsWith('secrets.'))).toEqual([])
  expect(store.calls).toEqual(['/v1/secret/data/team/app', '/v1/secret/data/other/one'])
})

test('retries a store that is briefly unavailable (P133)', async () => {
  using store = await openStore({ app: { key: 'v' } }, 2)
  const ready = await read(inputOf(['${{secrets.vault.app@key}}'], [{ url: store.url }]))
  expect(ready).toMatchObject({ input: { secrets: { 'secrets.vault.app@key': 'v' } } })
  expect(store.calls).toHaveLength(3)
})

test('ends the build with the name of a missing store, secret or key and without any value (P133)', async () => {
  using store = await openStore({ app: { key: 'the-value' } })
  const cases: [string, Partial<SecretStoreAccess>, RegExp][] = [
    ['${{secrets.nobody.key}}', { url: store.url }, /no secret store/],
    ['${{secrets.vault.key}}', { url: store.url }, /names no secret/],
    ['${{secrets.vault.gone@key}}', { url: store.url }, /has no secret gone/],
    ['${{secrets.vault.app@other}}', { url: store.url }, /has no key other/],
    ['${{secrets.vault.app@key}}', { url: store.url, token: 'bad' }, /refused to return app \(403\)/],
  ]
  for (const [text, access, message] of cases) {
    const ready = await read(inputOf([text], [access]))
    expect(ready).toMatchObject({
      outcome: { status: 'error', reason: 'integration-missing', message: expect.stringMatching(message) },
    })
    expect(JSON.stringify(ready)).not.toMatch(/the-value|good/)
  }
})

test('does not call stores without references to them', async () => {
  using store = await openStore({})
  const input = inputOf(['${{secrets}} ${{OTHER}}'], [{ url: store.url }])
  expect(await read(input)).toEqual({ input })
  expect(store.calls).toEqual([])
})

test('reads a store from the files of a mounted Secret or ConfigMap (R205)', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-store-'))
  await writeFile(join(folder, 'token'), 's-3')
  const access = { url: '', token: '', mount: '', path: 'team', folder }
  const ready = await read(inputOf(['${{secrets.vault.token}}', '${{secrets.vault.team@token}}'], [access]))
  if (!('input' in ready)) throw new Error(JSON.stringify(ready))
  expect(ready.input.secrets).toEqual({ 'secrets.vault.token': 's-3', 'secrets.vault.team@token': 's-3' })
  expect(await read(inputOf(['${{secrets.vault.other@token}}'], [access]))).toMatchObject({
    outcome: { message: 'The secret store vault provides only team, not other.' },
  })
  await rm(folder, { recursive: true })
  expect(await read(inputOf(['${{secrets.vault.token}}'], [access]))).toMatchObject({
    outcome: { reason: 'integration-missing', message: expect.stringContaining('cannot find team in the cluster') },
  })
})
