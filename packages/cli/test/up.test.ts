/** Life and death of `windlass up`. */
import { createServer } from 'node:net'
import { once } from 'node:events'
import { connect } from 'node:net'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPostgres } from '../../../e2e/support/postgres.ts'
import { runProgram } from '../../../e2e/support/process.ts'
import { openDesk, pipelineOf, startUp, type Desk } from './support.ts'

let desk: Desk

beforeAll(async () => {
  desk = await openDesk()
})

afterAll(() => desk[Symbol.asyncDispose]())

const COUNT = 'for n in $(seq 1 12); do echo "line $n"; sleep 0.5; done'
const linesIn = (text: string): string[] => text.match(/^line \d+$/gm) ?? []
const counted = (to: number): string[] => Array.from({ length: to }, (_, index) => `line ${index + 1}`)
const containersOf = (build: string): Promise<string> =>
  runProgram('docker', ['ps', '--all', '--quiet', '--filter', `label=windlass.io/build=${build}`])

test('a killed server goes on where it was: the build as a second attempt, its follower without a gap', async () => {
  await using up = await startUp(desk, 'killed')
  const path = await desk.file('count.yml', pipelineOf(desk, { first: ['echo once'], count: [COUNT] }))
  const id = (await desk.run(['run', '-f', path, '-d'])).stdout.trim()
  const follower = desk.start(['logs', '-f', id])
  await follower.says('line 3\n')
  await up.kill9()
  await sleep(300)
  await up.startAgain()
  const { code, stdout, stderr } = await follower.finished
  expect(code).toBe(0)
  expect(stderr.match(/reconnecting/g)).toHaveLength(1)
  expect(stdout.match(/^once$/gm)).toHaveLength(1)
  const [before = '', after = ''] = stdout.split('↻ attempt 2')
  expect(linesIn(before)).toEqual(counted(linesIn(before).length))
  expect(linesIn(after)).toEqual(counted(12))
  expect((await desk.run(['describe', 'build', id])).stdout).toMatch(/Retries: +1/)
  expect(await containersOf(id)).toBe('')
})

test('a follower whose connection is cut again and again shows every line once', async () => {
  await using up = await startUp(desk, 'cut')
  const cutter = createServer((client) => {
    const server = connect(up.port, '127.0.0.1')
    for (const socket of [client, server]) socket.on('error', () => undefined)
    client.pipe(server).pipe(client)
    setTimeout(() => client.resetAndDestroy(), 400)
    client.once('close', () => server.destroy())
  })
  cutter.listen(0, '127.0.0.1')
  await once(cutter, 'listening')
  const address = cutter.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const path = await desk.file('count.yml', pipelineOf(desk, { count: [COUNT] }))
  const id = (await desk.run(['run', '-f', path, '-d'])).stdout.trim()
  const env = { WINDLASS_URL: `http://127.0.0.1:${address.port}`, WINDLASS_API_KEY: up.adminKey }
  const { code, stdout, stderr } = await desk.run(['logs', '-f', id], { env })
  cutter.close()
  expect(code).toBe(0)
  expect(linesIn(stdout)).toEqual(counted(12))
  expect(stderr).toContain('reconnecting')
})

test('starting twice says that it runs already; stopping twice is harmless', async () => {
  await using up = await startUp(desk, 'twice')
  const again = await desk.run(['up', '--detach', '--data', up.data])
  expect(again).toMatchObject({ code: 0, stdout: `The server runs already: ${up.url}\n` })
  const second = await desk.run(['up', '--data', up.data])
  expect(second.code).toBe(1)
  expect(second.stderr).toContain('windlass up --stop')
  expect((await desk.run(['up', '--stop', '--data', up.data])).stdout).toBe(`The server at ${up.url} is stopped.\n`)
  expect((await desk.run(['up', '--stop', '--data', up.data])).stdout).toBe(`No server runs with ${up.data}.\n`)
})

test('stopping ends the steps that run; they run again after the next start', async () => {
  await using up = await startUp(desk, 'stopped')
  const path = await desk.file('slow.yml', pipelineOf(desk, { slow: ['echo begun', 'sleep 3'] }))
  const id = (await desk.run(['run', '-f', path, '-d'])).stdout.trim()
  await desk.start(['logs', '-f', id]).says('begun')
  await desk.run(['up', '--stop', '--data', up.data])
  expect(await containersOf(id)).toBe('')
  await up.startAgain()
  expect(await desk.run(['wait', id])).toMatchObject({ code: 0 })
})

test('a port that is taken is told in one sentence, also when detached', async () => {
  await using up = await startUp(desk, 'first')
  for (const words of [[], ['--detach']]) {
    const { code, stderr } = await desk.run(['up', '--port', String(up.port), '--data', join(desk.folder, 'second'), ...words])
    expect(code).not.toBe(0)
    expect(stderr).toContain(`Port ${up.port} is taken.`)
    expect(stderr).not.toContain('    at ')
  }
})

test('without Docker it says so', async () => {
  const { code, stderr } = await desk.run(['up', '--data', join(desk.folder, 'none')], {
    env: { DOCKER_HOST: 'unix:///no/such.sock' },
  })
  expect(code).toBe(1)
  expect(stderr).toMatch(/^error: .*Docker.*\nhint: .+\n$/)
})

test('it keeps its records in PostgreSQL when asked, and the password stays off the command line', async () => {
  await using postgres = await startPostgres()
  const data = join(desk.folder, 'postgres')
  const begin = await desk.run(['up', '--detach', '--port', '0', '--data', data], { env: { WINDLASS_POSTGRES: postgres.url } })
  expect(begin.code).toBe(0)
  try {
    const path = await desk.file('hello.yml', pipelineOf(desk, { hello: ['echo hello'] }))
    expect(await desk.run(['run', '-f', path])).toMatchObject({ code: 0 })
    const { pid }: { pid: number } = JSON.parse(await readFile(join(data, 'up.json'), 'utf8'))
    expect(await readFile(`/proc/${pid}/cmdline`, 'utf8')).not.toContain('postgres:')
  } finally {
    await desk.run(['up', '--stop', '--data', data])
  }
})

test('its data folder and keys belong to the user alone', async () => {
  await using up = await startUp(desk, 'private')
  expect((await stat(up.data)).mode & 0o777).toBe(0o700)
  expect((await stat(join(up.data, 'up.json'))).mode & 0o777).toBe(0o600)
  expect((await stat(desk.configFile)).mode & 0o777).toBe(0o600)
})
