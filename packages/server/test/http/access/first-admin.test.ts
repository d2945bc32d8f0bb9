/** Creation of the first admin of a new server, which requires the bootstrap code. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeTransport, openLog } from '@windlass/kit'
import { ApiKeyCreated, createClient, type Client } from '@windlass/protocol'
import { expect, test } from 'vitest'
import type { z } from 'zod'
import { WINDLASS } from '../../../../../e2e/support/programs.ts'
import { BOOTSTRAP_CODE_FILE, startServer, type ServerOptions } from '../../../src/index.ts'

interface Fresh extends AsyncDisposable {
  readonly nobody: Client
  readonly url: string
  readonly codeFile: string
  /** Returns the log of the server. */
  log(): string
  /** Restarts the server on the same folder. */
  restart(): Promise<void>
}

async function openFresh(options: Partial<ServerOptions> = {}): Promise<Fresh> {
  const dataDir = await mkdtemp(join(tmpdir(), 'windlass-first-'))
  const logFile = join(dataDir, 'server.log')
  // The log writes in the background, so its file stays open until this process ends.
  const log = openLog({ level: 'info', name: 'server', fd: openSync(logFile, 'a') })
  const start = (): ReturnType<typeof startServer> => startServer({ dataDir, minFreeShare: 0, log, ...options })
  let server = await start()
  return {
    get nobody() {
      return createClient({ url: server.url, transport: nodeTransport() })
    },
    get url() {
      return server.url
    },
    codeFile: join(dataDir, BOOTSTRAP_CODE_FILE),
    log: () => readFileSync(logFile, 'utf8'),
    async restart() {
      await server.close()
      server = await start()
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

const bootstrap = (client: Client, body: object, headers: Record<string, string> = {}): Promise<z.output<typeof ApiKeyCreated>> =>
  client.call('POST', '/v1/bootstrap', ApiKeyCreated, { body, headers })

test('creates the first admin only with the code from the data folder and the log', async () => {
  await using fresh = await openFresh()
  for (const body of [{}, { code: 'guess' }, { code: '' }])
    await expect(bootstrap(fresh.nobody, body)).rejects.toMatchObject({ code: 'bootstrap-code', status: 403 })
  const code = (await readFile(fresh.codeFile, 'utf8')).trim()
  expect((await stat(fresh.codeFile)).mode & 0o777).toBe(0o600)
  await expect.poll(() => fresh.log()).toContain(code)
  await fresh.restart()
  expect((await readFile(fresh.codeFile, 'utf8')).trim()).toBe(code)
  expect(await bootstrap(fresh.nobody, { code })).toMatchObject({ role: 'admin' })
})

test('the code returns the same key until the first call with the key, also after a restart', async () => {
  await using fresh = await openFresh()
  const code = (await readFile(fresh.codeFile, 'utf8')).trim()
  const first = await bootstrap(fresh.nobody, { code })
  expect(await bootstrap(fresh.nobody, { code, name: 'other' })).toEqual(first)
  await fresh.restart()
  expect(await Promise.all([1, 2, 3].map(() => bootstrap(fresh.nobody, { code })))).toEqual([first, first, first])
  await expect(bootstrap(fresh.nobody, { code: 'guess' })).rejects.toMatchObject({ code: 'bootstrap-code' })
  const wrong = fresh.nobody.withToken(`${first.id}.${'x'.repeat(43)}`)
  await expect(wrong.text('GET', '/v1/whoami')).rejects.toMatchObject({ code: 'unauthenticated' })
  expect(await bootstrap(fresh.nobody, { code })).toEqual(first)
  await fresh.nobody.withToken(first.token).text('GET', '/v1/whoami')
  await expect(bootstrap(fresh.nobody, { code })).rejects.toMatchObject({ code: 'bootstrap-closed' })
  expect(existsSync(fresh.codeFile)).toBe(false)
  await fresh.restart()
  expect(existsSync(fresh.codeFile)).toBe(false)
  await expect(bootstrap(fresh.nobody, { code })).rejects.toMatchObject({ code: 'bootstrap-closed' })
})

test('another code does not return the key', async () => {
  const options = { bootstrapCode: 'set-by-the-chart-0123456789' }
  await using fresh = await openFresh(options)
  const first = await bootstrap(fresh.nobody, { code: options.bootstrapCode })
  const before = { code: options.bootstrapCode }
  options.bootstrapCode = 'another-code-0123456789'
  await fresh.restart()
  await expect(bootstrap(fresh.nobody, before)).rejects.toMatchObject({ code: 'bootstrap-code' })
  await expect(bootstrap(fresh.nobody, { code: options.bootstrapCode })).rejects.toMatchObject({ code: 'bootstrap-closed' })
  await fresh.nobody.withToken(first.token).text('GET', '/v1/whoami')
})

test('the command creates the first admin with the code from a file, the environment or standard input', async () => {
  for (const way of ['file', 'environment', 'input'] as const) {
    await using fresh = await openFresh()
    const config = `${fresh.codeFile}.config`
    const { WINDLASS_API_KEY: _key, WINDLASS_URL: _url, ...inherited } = process.env
    const code = await readFile(fresh.codeFile, 'utf8')
    const login = async (given: { file?: string; environment?: string; input?: string }): Promise<number | null> => {
      const args = [
        'auth',
        'login',
        '--url',
        fresh.url,
        '--first-admin',
        ...(given.file === undefined ? [] : ['--code-file', given.file]),
      ]
      const env = {
        ...inherited,
        WINDLASS_CONFIG: config,
        ...(given.environment !== undefined && { WINDLASS_BOOTSTRAP_CODE: given.environment }),
      }
      const child = spawn(WINDLASS, args, { env, stdio: ['pipe', 'ignore', 'ignore'] })
      child.stdin.end(given.input ?? '')
      await once(child, 'close')
      return child.exitCode
    }
    expect([way, await login({ input: 'wrong' })]).toEqual([way, 4])
    expect([way, await login(way === 'file' ? { file: fresh.codeFile } : { [way]: code })]).toEqual([way, 0])
    expect(await readFile(config, 'utf8')).toContain('apiKey')
  }
})

test('writes a configured code neither to the data folder nor to the log', async () => {
  const bootstrapCode = 'set-by-the-chart-0123456789'
  await using fresh = await openFresh({ bootstrapCode })
  expect(existsSync(fresh.codeFile)).toBe(false)
  expect(fresh.log()).not.toContain(bootstrapCode)
  await expect(bootstrap(fresh.nobody, { code: 'guess' })).rejects.toMatchObject({ code: 'bootstrap-code' })
  expect(await bootstrap(fresh.nobody, { code: bootstrapCode })).toMatchObject({ role: 'admin' })
})

test('rejects the creation of the first admin from another origin, even with the code', async () => {
  const bootstrapCode = 'set-by-the-chart-0123456789'
  await using fresh = await openFresh({ bootstrapCode, advertisedUrl: 'https://ci.test' })
  const body = { code: bootstrapCode }
  for (const origin of ['https://evil.test', 'null', fresh.url.replace('http', 'https'), 'https://ci.test.evil.test'])
    await expect(bootstrap(fresh.nobody, body, { origin }), origin).rejects.toMatchObject({ code: 'forbidden' })
  for (let n = 0; n < 25; n += 1)
    await expect(bootstrap(fresh.nobody, {}, { origin: 'null' })).rejects.toThrow('pages of the origin "null"')
  const bare = await fetch(`${fresh.url}/v1/bootstrap`, { method: 'POST', headers: { origin: 'https://evil.test' } })
  expect(bare.status).toBe(403)
  expect(await bootstrap(fresh.nobody, body, { origin: 'https://ci.test' })).toMatchObject({ role: 'admin' })
})
