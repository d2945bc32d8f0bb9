/** `windlass server backup`, `restore`, `export` and `import` as users run them, against a server that works. */
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFile } from 'node:child_process'
import { openClient } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPostgres, type Postgres } from '../../../../../e2e/support/postgres.ts'
import { WINDLASS } from '../../../../../e2e/support/programs.ts'
import { windlass } from '../../../../cli/test/windlass.ts'
import { startServer } from '../../../src/index.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { plantSecrets, reopen } from '../../support/secrets-scene.ts'

let folder = ''
let postgres: Postgres
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'windlass-archives-'))
  postgres = await startPostgres({ isDurable: false })
  writeFileSync(join(folder, 'passphrase'), 'correct horse battery staple\n')
})
afterAll(async () => {
  await postgres?.close()
  await rm(folder, { recursive: true, force: true })
})

interface Finished {
  readonly code: number
  readonly text: string
}

/** Runs a command that works without a server, with settings of a server. */
function directly(words: readonly string[], settings: Readonly<Record<string, string>> = {}): Promise<Finished> {
  const env = { ...process.env, NO_COLOR: '1', WINDLASS_CONFIG: '/nowhere/config', ...settings }
  return new Promise((resolve) => {
    execFile(WINDLASS, words, { env }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, text: stdout + stderr }),
    )
  })
}

test('a backup of a busy server is restored with its keys: builds, logs and every secret', async () => {
  await using scene = await openHttpScene()
  const planted = await plantSecrets(scene)
  const { build, engine } = await scene.start()
  await engine.succeed()
  const file = join(folder, 'full.tar.gz')
  let isOver = false
  const load = (async () => {
    for (let n = 0; !isOver; n += 1) await scene.admin.pipelines.create({ name: `busy-${n}`, document: HELLO })
  })()
  const written = await windlass(scene, ['server', 'backup', file, '--passphrase-file', join(folder, 'passphrase')])
  isOver = true
  await load
  expect([written.code, written.text]).toEqual([
    0,
    expect.stringMatching(/Wrote .*full\.tar\.gz: \d+ rows of \d+ tables, \d+ log objects/),
  ])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect((await windlass(scene, ['server', 'backup', file])).text).toContain('exists')

  const data = join(folder, 'restored')
  const restore = ['server', 'restore', file, '--data', data, '--passphrase-file', join(folder, 'passphrase')]
  const dry = await directly([...restore, '--dry-run'])
  expect([dry.code, dry.text, existsSync(data)]).toEqual([0, expect.stringContaining('The archive can be loaded'), false])
  const restored = await directly(restore)
  expect([restored.code, restored.text]).toEqual([0, expect.stringContaining('Its master keys are in the data folder.')])
  await using after = await reopen({ ...scene, dataDir: data })
  expect(await planted.missing(after)).toEqual([])
  expect(await after.admin.builds.log(build.id)).toBe('output of hello\n')
  const again = await directly(restore)
  expect([again.code, again.text]).toEqual([1, expect.stringContaining('Another server has')])
})

test('a stopped server moves from SQLite to PostgreSQL and back; its users and builds remain', async () => {
  const place = join(folder, 'moved')
  const scene = await openHttpScene({ dataDir: place })
  const { build, engine } = await scene.start()
  await engine.succeed()
  const running = await directly(['server', 'export', join(folder, 'busy.tar'), '--direct', '--data', place])
  expect([running.code, running.text]).toEqual([1, expect.stringContaining('Another server has')])
  expect(readdirSync(folder).filter((name) => name.startsWith('busy'))).toEqual([])
  await scene.server.close()

  const there = join(folder, 'there.tar')
  expect((await directly(['server', 'export', there, '--direct', '--data', place])).code).toBe(0)
  const url = { WINDLASS_SERVER_DATABASE_URL: postgres.url }
  const imported = await directly(['server', 'import', there, '--data', place], url)
  expect([imported.code, imported.text]).toEqual([0, expect.stringMatching(/Loaded .*there\.tar: \d+ rows/)])
  const server = await startServer({ dataDir: place, databaseUrl: postgres.url, minFreeShare: 0 })
  const admin = openClient({ url: server.url, token: scene.adminToken, transport: nodeTransport() })
  expect(await admin.builds.log(build.id)).toBe('output of hello\n')
  const next = await admin.builds.create({ document: HELLO })
  // PostgreSQL is exported while its server works.
  const back = join(folder, 'back.tar')
  expect((await directly(['server', 'export', back, '--direct', '--data', place], url)).code).toBe(0)
  await server.close()

  const target = join(folder, 'back')
  const settings = {
    WINDLASS_SERVER_DATA_DIR: target,
    WINDLASS_SERVER_LOGS_URL: join(place, 'logs'),
    WINDLASS_SERVER_MASTER_KEY_FILE: join(place, 'master.key'),
  }
  expect(await directly(['server', 'import', back], settings)).toMatchObject({ code: 0 })
  const sqlite = await startServer({
    dataDir: target,
    logsUrl: settings.WINDLASS_SERVER_LOGS_URL,
    masterKey: readFileSync(settings.WINDLASS_SERVER_MASTER_KEY_FILE, 'utf8'),
    minFreeShare: 0,
  })
  const again = openClient({ url: sqlite.url, token: scene.adminToken, transport: nodeTransport() })
  expect(await again.builds.log(build.id)).toBe('output of hello\n')
  expect((await again.builds.get(next.id)).number).toBe(next.number)
  await sqlite.close()
})

test('only an admin gets an archive, an API key with scopes gets none with master keys, and the audit log has both calls', async () => {
  await using scene = await openHttpScene()
  const file = join(folder, 'refused.tar')
  const { token: viewer } = await scene.admin.keys.create({ name: 'viewer', role: 'viewer' })
  expect(await windlass(scene, ['server', 'backup', file], viewer)).toMatchObject({ code: 4 })
  const { token: scoped } = await scene.admin.keys.create({ name: 'scoped', role: 'admin', scopes: ['account:write'] })
  const sealed = await windlass(scene, ['server', 'backup', file, '--passphrase-file', join(folder, 'passphrase')], scoped)
  expect([sealed.code, sealed.text]).toEqual([4, expect.stringContaining('no archive with master keys')])
  expect(readdirSync(folder).filter((name) => name.startsWith('refused'))).toEqual([])
  expect(await windlass(scene, ['server', 'backup', file, '--without-logs'], scoped)).toMatchObject({ code: 0 })
  const { items } = await scene.admin.audit.list({ query: { order: 'newest' } })
  const calls = items.filter(({ action }) => action === 'POST /v1/archives')
  expect(calls.map(({ result, detail }) => [result, detail])).toEqual([
    ['done', 'without logs, without master keys'],
    ['denied', undefined],
    ['denied', undefined],
  ])
})

test('a backup that the server cannot finish leaves no file', async () => {
  await using scene: HttpScene = await openHttpScene()
  const { engine } = await scene.start()
  await engine.succeed()
  const { objects } = scene.server.app.logs
  Object.assign(objects, {
    get: () => Promise.reject(new Error('the disk broke')),
  })
  const file = join(folder, 'broken.tar')
  const { code, text } = await windlass(scene, ['server', 'backup', file])
  expect([code, text]).toEqual([5, expect.stringContaining('broke before the archive was complete')])
  expect(readdirSync(folder).filter((name) => name.startsWith('broken'))).toEqual([])
})
