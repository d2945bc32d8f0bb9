/** Rotation of the master key by an admin: with the command, while builds start, and with a server that is killed. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeTransport, systemClock } from '@windlass/kit'
import { ApiKeyCreated, Build, Context, createClient, MasterKeys } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { firstAdmin } from '../../../../../e2e/support/first-admin.ts'
import { freePort } from '../../../../../e2e/support/process.ts'
import { windlass } from '../../../../cli/test/windlass.ts'
import { openSecrets } from '../../../src/builds/create/build-secrets.ts'
import { openContextVariables } from '../../../src/contexts/context-data.ts'
import { openApp } from '../../../src/open-app.ts'
import { openHttpScene } from '../../support/http-scene.ts'
import { dumpTables, plantSecrets, reopen } from '../../support/secrets-scene.ts'
import { killed, ready, runServer } from '../../support/server-process.ts'

const lines = async (dataDir: string): Promise<string[]> =>
  (await readFile(join(dataDir, 'master.key'), 'utf8')).trim().split('\n')

test('the command seals everything with a new key while builds start, and removes the old one', async () => {
  await using scene = await openHttpScene()
  const planted = await plantSecrets(scene)
  const [older] = await lines(scene.dataDir)
  const running = windlass(scene, ['server', 'rotate-keys', '--prune'])
  let isOver = false
  const starting = (async () => {
    for (let n = 0; !isOver; n += 1) await scene.submit({ document: 'steps: 5', secrets: { ONCE: `s3cret ${n}` } })
  })()
  const { code, text } = await running
  isOver = true
  await starting
  expect([code, text]).toEqual([0, expect.stringMatching(/Re-encrypted \d+ secrets with key [0-9a-f]{16}\./)])
  expect((await lines(scene.dataDir)).includes(older ?? '')).toBe(false)
  const { keys } = await scene.admin.call('GET', '/v1/master-keys', MasterKeys)
  expect(keys).toMatchObject([{ state: 'current' }])
  const shown = await windlass(scene, ['server', 'keys'])
  expect([shown.code, shown.text]).toEqual([0, expect.stringContaining(`${keys[0]?.id ?? 'none'}  current`)])
  await using again = await reopen(scene)
  expect(await planted.missing(again)).toEqual([])
})

test('older keys stay until they are pruned, and the command reports which lines of a setting are no longer needed', async () => {
  const [older, newer] = [Buffer.alloc(32, 1).toString('base64'), Buffer.alloc(32, 2).toString('base64')]
  await using scene = await openHttpScene({ masterKey: older })
  const planted = await plantSecrets(scene)
  const refused = await windlass(scene, ['server', 'rotate-keys'])
  expect([refused.code === 0, refused.text]).toEqual([false, expect.stringContaining('No new master key is configured.')])
  await using added = await reopen(scene, { masterKey: `${older},${newer}` })
  const { code, text } = await windlass(added, ['server', 'rotate-keys', '--prune'])
  expect([code, text]).toEqual([0, expect.stringContaining('Nothing needs the key on line 1 of the setting any more')])
  await using pruned = await reopen(added, { masterKey: newer })
  expect(await planted.missing(pruned)).toEqual([])
})

test('a server that is killed repeatedly during a rotation resumes it after the start and loses no secret', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'windlass-keys-'))
  const port = await freePort()
  const env = { DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: String(port), MIN_FREE_PERCENT: '0' }
  const nobody = createClient({ url: `http://127.0.0.1:${port}`, transport: nodeTransport() })
  let child = runServer(env)
  try {
    await ready(nobody, child)
    const { token } = await nobody.call('POST', '/v1/bootstrap', ApiKeyCreated, { body: await firstAdmin(dataDir) })
    const admin = nobody.withToken(token)
    const put = (n: number): Promise<unknown> =>
      admin.call('POST', '/v1/contexts', Context, { body: { name: `c${n}`, type: 'secret', data: { F: `s3cret ${n}` } } })
    const submit = (n: number): Promise<unknown> =>
      admin.call('POST', '/v1/builds', Build, { body: { document: 'steps: 5', secrets: { F: `s3cret ${n}` } } })
    // A key may have ten concurrent calls with documents.
    for (let n = 0; n < 150; n += 5) await Promise.all([0, 1, 2, 3, 4].flatMap((more) => [put(n + more), submit(n + more)]))
    const rotations = new Set<number>()
    for (const delay of [0, 20, 80]) {
      // Builds start at the same time. Those whose call is interrupted by the kill may or may not exist.
      const started = Promise.allSettled(Array.from({ length: 20 }, (_, n) => submit(1000 + n)))
      const { rotation } = await admin.call('POST', '/v1/master-keys/rotation', MasterKeys, { body: {} })
      rotations.add(rotation?.startedAt ?? 0)
      await systemClock.sleep(delay)
      await killed(child, 'SIGKILL')
      await started
      child = runServer(env)
      await ready(nobody, child)
    }
    // The server resumes the rotation without a call.
    const shown = (): Promise<MasterKeys> => admin.call('GET', '/v1/master-keys', MasterKeys)
    await expect.poll(shown, { interval: 50 }).toMatchObject({ rotation: { finishedAt: expect.any(Number) } })
    expect((await shown()).keys).toHaveLength(rotations.size + 1)
    await admin.call('POST', '/v1/master-keys/prune', MasterKeys)
    await expect.poll(shown, { interval: 50 }).toMatchObject({ keys: [{ state: 'current' }] })
    await killed(child, 'SIGKILL')
    await expectAll(dataDir)
  } finally {
    child.kill('SIGKILL')
    await rm(dataDir, { recursive: true, force: true })
  }
})

/** Checks that every secret opens with the one remaining key, and that nothing is sealed with another. */
async function expectAll(dataDir: string): Promise<void> {
  expect(await lines(dataDir)).toHaveLength(1)
  const { app, close } = await openApp({ dataDir, startsLoops: false }, () => '')
  try {
    const { query } = app.store
    const contexts = await query.selectFrom('context').selectAll().execute()
    expect(contexts).toHaveLength(150)
    for (const row of contexts) expect(openContextVariables(app.vault, row)?.values).toEqual({ F: `s3cret ${row.name.slice(1)}` })
    const plans = await query.selectFrom('build_plan').select(['build_id', 'account_id', 'secrets']).execute()
    expect(plans.length).toBeGreaterThanOrEqual(150)
    for (const { build_id: id, account_id, secrets } of plans)
      expect(openSecrets(app.vault, { id, account_id }, secrets)).toEqual({ 'build/F': expect.stringMatching(/^s3cret \d+$/) })
    const texts = (await dumpTables(app)).flatMap(({ text }) => text.match(/\bs1\.[0-9a-f]{16}\./g) ?? [])
    expect(new Set(texts)).toEqual(new Set([`s1.${app.vault.ring.keys()[0]?.id ?? ''}.`]))
  } finally {
    await close()
  }
}
