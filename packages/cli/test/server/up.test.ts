/** Start, stop and crashes of `windlass up`. */
import { createServer } from 'node:net'
import { once } from 'node:events'
import { connect } from 'node:net'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pathOf, ROUTES } from '@windlass/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPostgres } from '../../../../e2e/support/postgres.ts'
import { runProgram } from '../../../../e2e/support/process.ts'
import { letGo, UNTIL_LET_GO } from '../../../../e2e/support/steps.ts'
import { openSandbox, pipelineOf, startUp, stopUp, type Sandbox } from '../support.ts'

let sandbox: Sandbox

beforeAll(async () => {
  sandbox = await openSandbox()
})

afterAll(() => sandbox[Symbol.asyncDispose]())

const COUNT = 'for n in $(seq 1 12); do echo "line $n"; sleep 0.5; done'
/** Stops in the middle until the test lets it go on. */
const COUNT_AND_WAIT = `for n in $(seq 1 12); do echo "line $n"; if test "$n" = 6; then ${UNTIL_LET_GO}; fi; done`
const linesIn = (text: string): string[] => text.match(/^line \d+$/gm) ?? []
const counted = (to: number): string[] => Array.from({ length: to }, (_, index) => `line ${index + 1}`)
const containersOf = (build: string): Promise<string> =>
  runProgram('docker', ['ps', '--all', '--quiet', '--filter', `label=windlass.io/build=${build}`])

test('a killed server continues after its restart: the build as a second attempt, its follower without a gap', async () => {
  await using up = await startUp(sandbox, 'killed')
  const path = await sandbox.file('count.yml', pipelineOf(sandbox, { first: ['echo once'], count: [COUNT_AND_WAIT] }))
  const id = (await sandbox.run(['run', '-f', path, '-d'])).stdout.trim()
  const follower = sandbox.start(['logs', '-f', id])
  await follower.says('line 3\n')
  await up.kill9()
  await follower.says('reconnecting')
  await up.startAgain()
  await follower.says(/↻ attempt 2[^]*line 6\n/)
  await letGo(id)
  const { code, stdout, stderr } = await follower.finished
  expect(code).toBe(0)
  expect(stderr.match(/reconnecting/g)).toHaveLength(1)
  expect(stdout.match(/^once$/gm)).toHaveLength(1)
  const [before = '', after = ''] = stdout.split('↻ attempt 2')
  expect(linesIn(before)).toEqual(counted(linesIn(before).length))
  expect(linesIn(after)).toEqual(counted(12))
  expect((await sandbox.run(['describe', 'build', id])).stdout).toMatch(/Retries: +1/)
  // The engine removes its containers after it reports the end.
  await expect.poll(() => containersOf(id)).toBe('')
})

test('a follower whose connection is cut repeatedly shows every line once', async () => {
  await using up = await startUp(sandbox, 'cut')
  const path = await sandbox.file('count.yml', pipelineOf(sandbox, { count: [UNTIL_LET_GO, COUNT] }))
  const id = (await sandbox.run(['run', '-f', path, '-d'])).stdout.trim()
  let questions = 0
  const following = Promise.withResolvers<void>()
  const cutter = createServer((client) => {
    const server = connect(up.port, '127.0.0.1')
    for (const socket of [client, server]) socket.on('error', () => undefined)
    client.pipe(server).pipe(client)
    // Every connection delivers something before it is cut, because a reset discards data that was not read yet.
    let isFollower = false
    let pieces = 0
    client.on('data', (data: Buffer) => {
      isFollower = data.includes('/follow')
      if (isFollower) following.resolve()
      // The second request fetches the result, after the last line.
      if (data.includes(`GET ${pathOf(ROUTES.builds.get, id)} `) && (questions += 1) === 2) client.resetAndDestroy()
    })
    server.on('data', () => isFollower && (pieces += 1) === 3 && client.destroySoon())
    client.once('close', () => server.destroy())
  })
  cutter.listen(0, '127.0.0.1')
  await once(cutter, 'listening')
  const address = cutter.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const env = { WINDLASS_URL: `http://127.0.0.1:${address.port}`, WINDLASS_API_KEY: up.adminKey }
  const follower = sandbox.start(['logs', '-f', id], { env })
  // The lines come while it follows: those of an ended build may come in one piece, which is not cut.
  await following.promise
  await letGo(id)
  const { code, stdout, stderr } = await follower.finished
  cutter.close()
  expect(stderr).toContain('reconnecting')
  expect(linesIn(stdout)).toEqual(counted(12))
  expect({ code, questions }).toEqual({ code: 0, questions: 3 })
})

test('a second start reports the running server; a second stop does nothing', async () => {
  await using up = await startUp(sandbox, 'twice')
  const again = await sandbox.run(['up', '--detach', '--data', up.data])
  expect(again.code).toBe(0)
  expect(again.stdout).toContain(`The server is already running: ${up.url}\nOpen ${up.url}/signin#code=`)
  const second = await sandbox.run(['up', '--data', up.data])
  expect(second.code).toBe(1)
  expect(second.stderr).toContain('windlass up --stop')
  expect((await sandbox.run(['up', '--stop', '--data', up.data])).stdout).toBe(`The server at ${up.url} was stopped.\n`)
  expect((await sandbox.run(['up', '--stop', '--data', up.data])).stdout).toBe(`No server uses ${up.data}.\n`)
})

test('a stop ends running steps, which run again after the next start', async () => {
  await using up = await startUp(sandbox, 'stopped')
  const path = await sandbox.file('slow.yml', pipelineOf(sandbox, { slow: ['echo begun', 'sleep 3'] }))
  const id = (await sandbox.run(['run', '-f', path, '-d'])).stdout.trim()
  await sandbox.start(['logs', '-f', id]).says('begun')
  await sandbox.run(['up', '--stop', '--data', up.data])
  expect(await containersOf(id)).toBe('')
  await up.startAgain()
  expect(await sandbox.run(['wait', id])).toMatchObject({ code: 0 })
})

test('reports a port that is in use, also when detached', async () => {
  await using up = await startUp(sandbox, 'first')
  for (const words of [[], ['--detach']]) {
    const { code, stderr } = await sandbox.run([
      'up',
      '--port',
      String(up.port),
      '--data',
      join(sandbox.folder, 'second'),
      ...words,
    ])
    expect(code).not.toBe(0)
    expect(stderr).toContain(`Port ${up.port} is in use.`)
    expect(stderr).not.toContain('    at ')
  }
})

test('reports that Docker is unreachable', async () => {
  const { code, stderr } = await sandbox.run(['up', '--data', join(sandbox.folder, 'none')], {
    env: { DOCKER_HOST: 'unix:///no/such.sock' },
  })
  expect(code).toBe(1)
  expect(stderr).toMatch(/^error: .*Docker.*\nhint: .+\n$/)
})

test('stores its records in PostgreSQL on request, and keeps the password off the command line', async () => {
  await using postgres = await startPostgres()
  const data = join(sandbox.folder, 'postgres')
  const begin = await sandbox.run(['up', '--detach', '--port', '0', '--data', data], { env: { WINDLASS_POSTGRES: postgres.url } })
  expect(begin.code).toBe(0)
  try {
    const path = await sandbox.file('hello.yml', pipelineOf(sandbox, { hello: ['echo hello'] }))
    expect(await sandbox.run(['run', '-f', path])).toMatchObject({ code: 0 })
    const { pid }: { pid: number } = JSON.parse(await readFile(join(data, 'up.json'), 'utf8'))
    expect(await readFile(`/proc/${pid}/cmdline`, 'utf8')).not.toContain('postgres:')
  } finally {
    await stopUp(sandbox, data)
  }
})

test('only the user can access its data folder and keys', async () => {
  await using up = await startUp(sandbox, 'private')
  expect((await stat(up.data)).mode & 0o777).toBe(0o700)
  expect((await stat(join(up.data, 'up.json'))).mode & 0o777).toBe(0o600)
  expect((await stat(sandbox.configFile)).mode & 0o777).toBe(0o600)
})
