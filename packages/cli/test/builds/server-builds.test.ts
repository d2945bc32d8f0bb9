/** Mistakes and failures of a user: Ctrl-C while the server no longer answers, refused options and keys, hints. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WINDLASS } from '../../../../e2e/support/programs.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

let scene: HttpScene
let folder: string
beforeAll(async () => {
  scene = await openHttpScene()
  folder = await mkdtemp(join(tmpdir(), 'windlass-follow-'))
  await writeFile(join(folder, 'hello.yml'), HELLO)
  await writeFile(join(folder, 'secrets.env'), 'A=1\n')
})
afterAll(async () => {
  await scene[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

/** A server that creates builds and does not answer other calls. */
async function startSilent() {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return
    void (async () => {
      const { authorization = '' } = request.headers
      const sent = { method: 'POST', headers: { authorization, 'content-type': 'application/json' }, body: await text(request) }
      const answer = await fetch(scene.server.url + (request.url ?? ''), sent)
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(await answer.text())
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

test('names the build and how to follow it if Ctrl-C comes before the server answers', async () => {
  using silent = await startSilent()
  const env = {
    ...process.env,
    NO_COLOR: '1',
    WINDLASS_URL: silent.url,
    WINDLASS_API_KEY: scene.adminToken,
    WINDLASS_CONFIG: '/nowhere/config',
  }
  const child = spawn(WINDLASS, ['run', '-f', join(folder, 'hello.yml')], { env })
  let shown = ''
  child.stderr.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  const closed = once(child, 'close')
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString()
    if (/Build [0-9a-f]{24}/.test(shown)) child.kill('SIGINT')
  })
  const [code] = await closed
  const id = /Build ([0-9a-f]{24})/.exec(shown)?.[1]
  expect(code).toBe(130)
  expect(shown).toContain(`The build continues. Follow it with \`windlass logs -f ${id}\``)
  expect(shown).not.toContain('WINDLASS_DEBUG')
})

test('shows the hint of a failed step', async () => {
  await using own = await openHttpScene()
  const { build, engine } = await own.start()
  await engine.event({ type: 'step.started', step: 'hello', try: 1 })
  const failure = {
    status: 'error',
    reason: 'command-not-found',
    message: 'tool is missing.',
    hint: 'Install the tool.',
  } as const
  await engine.event({ type: 'step.finished', step: 'hello', try: 1, ...failure, exitCode: 127, members: {}, exports: [] })
  await engine.finish({ status: 'error', reason: 'command-not-found' })
  const { code, text: output } = await windlass(own, ['logs', '-f', build.id])
  expect(code).toBe(1)
  expect(output).toContain('hint: Install the tool.')
})

test('names the variable whose key the server refuses', async () => {
  const { code, text: output } = await windlass(scene, ['get', 'builds'], `${'0'.repeat(24)}.wrong`)
  expect(code).toBe(4)
  expect(output).toContain('refused the key of the environment (WINDLASS_API_KEY)')
})

test('a missing document of --watch is reported like any other', async () => {
  const { code, text: output } = await windlass(scene, ['run', '--local', '--watch', '-f', join(folder, 'none', 'x.yml')])
  expect(code).toBe(3)
  expect(output).toContain('none/x.yml does not exist.')
})

test('names the existing statuses if the filter of builds has an unknown one', async () => {
  const { code, text: output } = await windlass(scene, ['get', 'builds', '--status', 'failed'])
  expect(code).toBe(2)
  expect(output).toContain('The status "failed" does not exist.')
  expect(output).toContain('pending-approval')
})

test.each([['--secret-file', 'secrets.env'], ['--approve', 'hello'], ['--deny', 'hello'], ['--watch']])(
  'a build on a server refuses %s, which works only in local builds',
  async (option, ...value) => {
    const words = option === '--secret-file' ? [option, join(folder, 'secrets.env')] : [option, ...value]
    const { code, text: output } = await windlass(scene, ['run', '-d', '-f', join(folder, 'hello.yml'), ...words])
    expect(code).toBe(2)
    expect(output).toContain(`${option} needs --local.`)
  },
)
