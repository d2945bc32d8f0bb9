/** The debugger from the command line, against a real `windlass up`. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSandbox, pipelineOf, startUp, type Sandbox, type Up } from '../support.ts'

let sandbox: Sandbox
let up: Up

beforeAll(async () => {
  sandbox = await openSandbox()
  up = await startUp(sandbox)
})

afterAll(async () => {
  await up[Symbol.asyncDispose]()
  await sandbox[Symbol.asyncDispose]()
})

test('a debug run stops at its breakpoints, runs commands in the held step, and continues on request (P160)', async () => {
  const file = await sandbox.file('held.yml', pipelineOf(sandbox, { one: ['echo never'], two: ['echo "two $A"'] }))
  const { stdout: id } = await sandbox.run(['run', '-f', file, '--break', 'one:override', '-d'])
  const build = id.trim()
  const looked = await sandbox.run(['debug', build, 'one', '--command', 'cf_export A=kept; echo "in $CF_STEP_NAME"; exit 3'])
  expect(looked).toMatchObject({ code: 3, stdout: 'in one\r\n' })
  const { stdout: list } = await sandbox.run(['debug', build, '--list'])
  expect(list).toMatch(/^held {2}one {2}override$/m)
  const terminal = /^terminal ([0-9a-f]{24}) {2}one {2}override {2}by \S+ {2}ended$/m.exec(list)?.[1] ?? ''
  expect((await sandbox.run(['debug', build, '--continue'])).code).toBe(0)
  expect((await sandbox.run(['wait', build])).code).toBe(0)
  const { stdout: log } = await sandbox.run(['logs', build])
  expect(log).toContain('two kept')
  expect(log).not.toContain('in one')
  expect((await sandbox.run(['debug', build, '--replay', terminal])).stdout).toBe('in one\r\n')
  expect(await sandbox.run(['debug', build])).toMatchObject({ code: 1, stderr: expect.stringContaining('The build has ended') })
})

test('piped input reaches the shell of a held step, and the end of the shell continues the step (P160)', async () => {
  const file = await sandbox.file('piped.yml', pipelineOf(sandbox, { one: ['echo never'] }))
  const { stdout: id } = await sandbox.run(['run', '-f', file, '--break', 'one:override', '-d'])
  const { code, stdout } = await sandbox.run(['debug', id.trim()], { input: 'echo $((6 * 7))\nexit\n' })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^42\r$/m)
  expect((await sandbox.run(['wait', id.trim()])).code).toBe(0)
})

test('rejects an invalid breakpoint with exit code 2, and `debug` for a build without breakpoints', async () => {
  const file = await sandbox.file('plain.yml', pipelineOf(sandbox, { one: ['sleep 3600'] }))
  expect(await sandbox.run(['run', '-f', file, '--break', 'one:nowhere'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('before, override, after, failure'),
  })
  const { stdout: id } = await sandbox.run(['run', '-f', file, '-d'])
  const { code, stderr } = await sandbox.run(['debug', id.trim()])
  expect(code).not.toBe(0)
  expect(stderr).toContain('Debugging is off for this build.')
  expect(await sandbox.run(['terminate', id.trim()])).toMatchObject({ code: 0 })
  expect((await sandbox.run(['run', '--local', '-f', file, '--debug'])).stderr).toContain('needs a terminal')
})
