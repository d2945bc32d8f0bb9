/** Commands that need neither server nor Docker. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runProgram } from '../../../e2e/support/process.ts'
import { openDesk, type Desk } from './support.ts'

let desk: Desk

beforeAll(async () => {
  desk = await openDesk()
})

afterAll(() => desk[Symbol.asyncDispose]())

const INVALID = "version: '1.0'\nsteps:\n  a:\n    image: alpine\n    comands: [echo]\n  b:\n    type: freestyl\n"

test('validate shows each problem with its place, its line and a caret', async () => {
  const path = await desk.file('bad.yml', INVALID)
  const { code, stdout } = await desk.run(['validate', path])
  expect(code).toBe(1)
  expect(stdout).toMatch(/bad\.yml:7:\d+: error: /)
  expect(stdout).toMatch(/7 \| {5}type: freestyl\n +\| +\^/)
  expect(stdout).toMatch(/✖ .*bad\.yml is not valid: \d+ problems? \(/)
})

test('P172: validate -o json gives one object for one file and a list with names for several', async () => {
  const bad = await desk.file('bad.yml', INVALID)
  const good = await desk.file('good.yml', "version: '1.0'\nsteps:\n  a: { image: alpine, commands: [echo] }\n")
  const one = await desk.run(['validate', bad, '-o', 'json'])
  expect(one.code).toBe(1)
  expect(JSON.parse(one.stdout)).toMatchObject({
    valid: false,
    problems: expect.arrayContaining([
      expect.objectContaining({
        line: 7,
        column: expect.any(Number),
        severity: 'error',
        code: expect.any(String),
        message: expect.any(String),
      }),
    ]),
  })
  const both = await desk.run(['validate', good, bad, '-o', 'json'])
  expect(JSON.parse(both.stdout)).toMatchObject([
    { file: good, valid: true, problems: [] },
    { file: bad, valid: false },
  ])
  expect(await desk.run(['validate', good])).toMatchObject({ code: 0, stdout: `✔ ${good} is valid\n` })
})

test('validate reads standard input', async () => {
  const { code, stdout } = await desk.run(['validate', '-'], { input: INVALID })
  expect(code).toBe(1)
  expect(stdout).toContain('<stdin>:7:')
})

test('P172: validate prints the formats of the published validator', async () => {
  const bad = await desk.file('bad.yml', INVALID)
  const good = await desk.file('good.yml', "version: '1.0'\nsteps:\n  a: { image: alpine }\n")
  const message = await desk.run(['validate', bad, '--format', 'message'])
  expect(message).toMatchObject({ code: 1, stdout: 'there is no step type "freestyl". Did you mean "freestyle"?\n' })
  const lint = await desk.run(['validate', bad, good, '--format', 'lint'], { env: { DOCS_BASE_URL: 'https://docs.example.com' } })
  expect(lint.stdout).toContain('Yaml validation warnings:\n5     warning    "comands" is no field')
  expect(lint.stdout).toContain('✖ 2 problems (1 error, 1 warning)')
  expect(lint.stdout).toContain('Visit https://docs.example.com/steps/freestyle.md for steps documentation')
  expect(lint.stdout).toContain(`${good}:\nYaml is valid!\n`)
  expect((await desk.run(['validate', bad, '--format', 'printify'])).stdout).toContain('│ Error Lines        │ 7 ')
  expect(await desk.run(['validate', bad, '--format', 'odd'])).toMatchObject({ code: 2 })
})

test('P177: validate expands patterns, lists what is missing, and exits with 0, 1, 2 or 3', async () => {
  const bad = await desk.file('one.bad.yml', INVALID)
  const good = await desk.file('one.good.yml', "version: '1.0'\nsteps: {}\n")
  const all = await desk.run(['validate', 'one.*.yml', 'nope.yml', '*.none'])
  expect(all.code).toBe(3)
  expect(all.stdout).toContain('✖ one.bad.yml is not valid')
  expect(all.stdout).toContain('✔ one.good.yml is valid')
  expect(all.stderr).toContain('nope.yml does not exist.')
  expect(all.stderr).toContain('*.none does not exist.')
  expect((await desk.run(['validate', 'one.good.yml'])).code).toBe(0)
  expect((await desk.run(['validate', bad, good])).code).toBe(1)
  expect((await desk.run(['validate', '-', '--watch'])).code).toBe(2)
})

test('validate --watch checks a file again when it is written, and ends with the last status', async () => {
  const path = await desk.file('watched.yml', INVALID)
  const watching = desk.start(['validate', path, '--watch'])
  await watching.says('Watching.')
  await desk.file('watched.yml', "version: '1.0'\nsteps: {}\n")
  await watching.says('watched.yml is valid\n')
  watching.interrupt()
  const { code, stdout } = await watching.finished
  expect(code).toBe(0)
  expect(stdout.indexOf('watched.yml is not valid')).toBeLessThan(stdout.indexOf('watched.yml is valid\n'))
})

test('a run without a known server says how to get one', async () => {
  const { code, stderr } = await desk.run(['run', 'demo/app'])
  expect(code).toBe(5)
  expect(stderr).toMatch(/^error: No server is known\.\nhint: .*windlass up.*\n$/)
})

test('version takes less than 150 ms where a bare Node takes 35', async () => {
  const fastest = async (work: () => Promise<unknown>): Promise<number> => {
    const times: number[] = []
    for (let n = 0; n < 7; n += 1) {
      const start = performance.now()
      await work()
      times.push(performance.now() - start)
    }
    return Math.min(...times)
  }
  const version = await fastest(() => desk.run(['version']))
  const floor = await fastest(() => runProgram(process.execPath, ['-e', '0']))
  expect((await desk.run(['version'])).stdout).toMatch(/^windlass \d/)
  expect(version).toBeLessThan(Math.max(150, (150 / 35) * floor))
})

test('help goes to standard output with exit code 0; a mistyped command is told the right one', async () => {
  const help = await desk.run(['run', '--help'])
  expect(help).toMatchObject({ code: 0, stderr: '' })
  expect(help.stdout).toContain('--source <folder>')
  const wrong = await desk.run(['valdate', 'x'])
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain('Did you mean validate?')
})

test('a broken file of contexts is told by its name', async () => {
  await desk.file('broken.yaml', 'contexts: 5\n')
  const { code, stderr } = await desk.run(['get', 'builds'], { env: { WINDLASS_CONFIG: `${desk.folder}/broken.yaml` } })
  expect(code).toBe(2)
  expect(stderr).toContain('broken.yaml is not a file of contexts')
})

test('the completion script of bash is valid, and completes', async () => {
  const script = (await desk.run(['completion', 'bash'])).stdout
  const path = await desk.file('completion.bash', script)
  expect(script).toContain('complete -o filenames -F _windlass windlass')
  expect((await desk.run(['__complete', 'get', 'pipe'])).stdout).toBe('pipelines\n')
  expect(path).toBeTruthy()
})

test('a reader that goes away ends the command quietly', async () => {
  const child = spawn('bash', [
    '-c',
    `"$0" run --help | head -1; echo "\${PIPESTATUS[0]}"`,
    `${import.meta.dirname}/../../../windlass`,
  ])
  let text = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  await once(child, 'close')
  expect(text).toMatch(/^Usage: windlass run/)
  expect(errors).toBe('')
})
