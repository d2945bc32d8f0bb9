import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { promisify } from 'node:util'
import { fault } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { answerOf, askProgram, DrainProgress, readAnswer, type Answer } from './drain-answers.ts'

const run = promisify(execFile)
const place = { namespace: 'ci', pod: 'gitlab-runner-0' }

async function serving(listener: RequestListener): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = server.address()
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 }
}

async function ask(port: number): Promise<Answer> {
  return readAnswer((await run(process.execPath, ['--input-type=module', '-e', askProgram(port)])).stdout)
}

/** Returns the answer of a manager that serves like this. */
async function answerFrom(listener: RequestListener): Promise<Answer> {
  return ask((await serving(listener)).port)
}

test('a manager answers with its jobs, or that it is parked', async () => {
  const serve =
    (jobs: string, status: number): RequestListener =>
    ({ url }, response) =>
      void response.writeHead(url === '/health/ready' ? status : 200).end(url === '/debug/jobs/list' ? jobs : '')
  expect(await answerFrom(serve('id=7 project=a\nid=8 project=b\n', 200))).toEqual({ type: 'busy', jobs: ['7', '8'] })
  expect(await answerFrom(serve('', 503))).toEqual({ type: 'parked' })
})

test('a refused connection is not the same as no answer', async () => {
  const { server, port } = await serving(() => undefined)
  server.close()
  await once(server, 'close')
  expect(await ask(port)).toEqual({ type: 'refused' })
  expect(await answerFrom((_, response) => void response.destroy())).toMatchObject({ type: 'silent' })
  expect(readAnswer('')).toEqual({ type: 'silent', why: 'the command in its container printed nothing' })
  expect(readAnswer('TimeoutError: The operation was aborted due to timeout\n')).toMatchObject({ type: 'silent' })
})

test('a pod that is gone has no jobs, and missing rights end the command', () => {
  expect(answerOf(fault('not-found', { message: 'pods "x" not found' }))).toEqual({ type: 'gone' })
  expect(answerOf(fault('cluster-unreachable', { message: 'container not found ("gitlab-runner")' }))).toEqual({
    type: 'refused',
  })
  expect(answerOf(fault('cluster-unreachable', { message: 'i/o timeout' }))).toEqual({ type: 'silent', why: 'i/o timeout' })
  const forbidden = fault('cluster-refused', { message: 'pods "x" is forbidden', httpStatus: 403 })
  expect(() => answerOf(forbidden)).toThrow(forbidden)
})

test('managers are done when they are parked, gone, or refuse connections for ten answers', () => {
  const progress = new DrainProgress()
  expect(progress.learn([[place, { type: 'busy', jobs: ['7'] }]])).toEqual({ isDone: false, jobs: ['7'] })
  expect(progress.learn([[place, { type: 'parked' }]]).isDone).toBe(true)
  expect(progress.learn([[place, { type: 'gone' }]]).isDone).toBe(true)
  for (let n = 1; n < 10; n += 1) expect(progress.learn([[place, { type: 'refused' }]]).isDone).toBe(false)
  expect(progress.learn([[place, { type: 'refused' }]]).isDone).toBe(true)
  expect(progress.learn([]).isDone).toBe(true)
})

test('a manager that does not answer ten times is an error with its place and what to do', () => {
  const progress = new DrainProgress()
  const silent: Answer = { type: 'silent', why: 'TimeoutError' }
  for (let n = 1; n < 10; n += 1) expect(progress.learn([[place, silent]]).isDone).toBe(false)
  expect(progress.learn([[place, { type: 'busy', jobs: [] }]]).isDone).toBe(false)
  for (let n = 1; n < 10; n += 1) progress.learn([[place, silent]])
  expect(() => progress.learn([[place, silent]])).toThrow(
    expect.objectContaining({
      code: 'wait-timeout',
      message: expect.stringContaining('The manager in the pod ci/gitlab-runner-0 does not answer'),
    }),
  )
})
