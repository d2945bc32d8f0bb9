/** The debugger from the command line, against a real `windlass up`. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDesk, pipelineOf, startUp, type Desk, type Up } from './support.ts'

let desk: Desk
let up: Up

beforeAll(async () => {
  desk = await openDesk()
  up = await startUp(desk)
})

afterAll(async () => {
  await up[Symbol.asyncDispose]()
  await desk[Symbol.asyncDispose]()
})

test('P160: a debug run stops where the command line says, runs commands in the held step, and goes on when it is told', async () => {
  const file = await desk.file('held.yml', pipelineOf(desk, { one: ['echo never'], two: ['echo "two $A"'] }))
  const { stdout: id } = await desk.run(['run', '-f', file, '--break', 'one:override', '-d'])
  const build = id.trim()
  const looked = await desk.run(['debug', build, 'one', '--command', 'cf_export A=kept; echo "in $CF_STEP_NAME"; exit 3'])
  expect(looked).toMatchObject({ code: 3, stdout: 'in one\r\n' })
  const { stdout: list } = await desk.run(['debug', build, '--list'])
  expect(list).toMatch(/^held {2}one {2}override$/m)
  const terminal = /^terminal ([0-9a-f]{24}) {2}one {2}override {2}by \S+ {2}ended$/m.exec(list)?.[1] ?? ''
  expect((await desk.run(['debug', build, '--continue'])).code).toBe(0)
  expect((await desk.run(['wait', build])).code).toBe(0)
  const { stdout: log } = await desk.run(['logs', build])
  expect(log).toContain('two kept')
  expect(log).not.toContain('in one')
  expect((await desk.run(['debug', build, '--replay', terminal])).stdout).toBe('in one\r\n')
  expect(await desk.run(['debug', build])).toMatchObject({ code: 1, stderr: expect.stringContaining('The build has ended') })
})

test('P160: keys that are piped in reach the shell of a held step, and its end lets the step go on', async () => {
  const file = await desk.file('piped.yml', pipelineOf(desk, { one: ['echo never'] }))
  const { stdout: id } = await desk.run(['run', '-f', file, '--break', 'one:override', '-d'])
  const { code, stdout } = await desk.run(['debug', id.trim()], { input: 'echo $((6 * 7))\nexit\n' })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^42\r$/m)
  expect((await desk.run(['wait', id.trim()])).code).toBe(0)
})

test('exit code 2: a breakpoint that is none, and a build that is not debugged', async () => {
  const file = await desk.file('plain.yml', pipelineOf(desk, { one: ['sleep 3'] }))
  expect(await desk.run(['run', '-f', file, '--break', 'one:nowhere'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('before, override, after, failure'),
  })
  const { stdout: id } = await desk.run(['run', '-f', file, '-d'])
  const { code, stderr } = await desk.run(['debug', id.trim()])
  expect(code).not.toBe(0)
  expect(stderr).toContain('The build is not debugged.')
  expect((await desk.run(['run', '--local', '-f', file, '--debug'])).stderr).toContain('needs a terminal')
})
