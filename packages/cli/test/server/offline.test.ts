/** Commands that need no server and no Docker. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSandbox, type Sandbox } from '../support.ts'

/** The command of the clone. */
const SOURCES = join(import.meta.dirname, '../../../../windlass')
let sandbox: Sandbox

beforeAll(async () => {
  sandbox = await openSandbox()
})

afterAll(() => sandbox[Symbol.asyncDispose]())

const INVALID = "version: '1.0'\nsteps:\n  a:\n    image: alpine\n    comands: [echo]\n  b:\n    type: freestyl\n"

test('validate shows each problem with its position, source line and a caret', async () => {
  const path = await sandbox.file('bad.yml', INVALID)
  const { code, stdout } = await sandbox.run(['validate', path])
  expect(code).toBe(1)
  expect(stdout).toMatch(/bad\.yml:7:\d+: error: /)
  expect(stdout).toMatch(/7 \| {5}type: freestyl\n +\| +\^/)
  expect(stdout).toMatch(/✖ .*bad\.yml is not valid: \d+ problems? \(/)
})

test('validate -o json prints an object for one file, and a list with names for several (P172)', async () => {
  const bad = await sandbox.file('bad.yml', INVALID)
  const good = await sandbox.file('good.yml', "version: '1.0'\nsteps:\n  a: { image: alpine, commands: [echo] }\n")
  const one = await sandbox.run(['validate', bad, '-o', 'json'])
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
  const both = await sandbox.run(['validate', good, bad, '-o', 'json'])
  expect(JSON.parse(both.stdout)).toMatchObject([
    { file: good, valid: true, problems: [] },
    { file: bad, valid: false },
  ])
  expect(await sandbox.run(['validate', good])).toMatchObject({ code: 0, stdout: `✔ ${good} is valid\n` })
})

test('validate reads standard input', async () => {
  const { code, stdout } = await sandbox.run(['validate', '-'], { input: INVALID })
  expect(code).toBe(1)
  expect(stdout).toContain('<stdin>:7:')
})

test('validate prints the formats of the Codefresh validator (P172)', async () => {
  const bad = await sandbox.file('bad.yml', INVALID)
  const good = await sandbox.file('good.yml', "version: '1.0'\nsteps:\n  a: { image: alpine }\n")
  const message = await sandbox.run(['validate', bad, '--format', 'message'])
  expect(message).toMatchObject({ code: 1, stdout: 'step type "freestyl" does not exist. Did you mean "freestyle"?\n' })
  const lint = await sandbox.run(['validate', bad, good, '--format', 'lint'], {
    env: { DOCS_BASE_URL: 'https://docs.example.com' },
  })
  expect(lint.stdout).toContain('Yaml validation warnings:\n5     warning    unknown field "comands"')
  expect(lint.stdout).toContain('[unknown-key]')
  expect(lint.stdout).toContain('Did you mean "freestyle"? [step-type]')
  expect(lint.stdout).toContain('✖ 2 problems (1 error, 1 warning)')
  expect(lint.stdout).toContain('Visit https://docs.example.com/guides/steps/freestyle.md for steps documentation')
  expect(lint.stdout).toContain(`${good}:\nYaml is valid!\n`)
  expect((await sandbox.run(['validate', bad, '--format', 'printify'])).stdout).toContain('│ Error Lines        │ 7 ')
  expect(await sandbox.run(['validate', bad, '--format', 'odd'])).toMatchObject({ code: 2 })
})

test('an unknown command of a group gets the similar one, or all of the group', async () => {
  const hintOf = async (...words: string[]): Promise<string | undefined> =>
    /^hint: (.*)$/m.exec((await sandbox.run(words)).stderr)?.[1]
  expect(await hintOf('auth', 'logon')).toBe('Did you mean login?')
  expect(await hintOf('describe', 'pipeline', 'demo/app')).toBe(
    'Use one of build, delivery, notification, runtimes, application, product, release.',
  )
  expect(await hintOf('create', 'thing', 'x')).toMatch(/^Use one of step-type, agent, context, /)
  expect(await hintOf('frobnicate')).toBe('See --help.')
})

test('validate expands patterns, lists missing files, and exits with 0, 1, 2 or 3 (P177)', async () => {
  const bad = await sandbox.file('one.bad.yml', INVALID)
  const good = await sandbox.file('one.good.yml', "version: '1.0'\nsteps: {}\n")
  const all = await sandbox.run(['validate', 'one.*.yml', 'nope.yml', '*.none'])
  expect(all.code).toBe(3)
  expect(all.stdout).toContain('✖ one.bad.yml is not valid')
  expect(all.stdout).toContain('✔ one.good.yml is valid')
  expect(all.stderr).toContain('nope.yml does not exist.')
  expect(all.stderr).toContain('*.none does not exist.')
  expect((await sandbox.run(['validate', 'one.good.yml'])).code).toBe(0)
  expect((await sandbox.run(['validate', bad, good])).code).toBe(1)
  expect((await sandbox.run(['validate', '-', '--watch'])).code).toBe(2)
})

test('validate --watch checks a file again when it changes, and exits with the last status', async () => {
  const path = await sandbox.file('watched.yml', INVALID)
  const watching = sandbox.start(['validate', path, '--watch'])
  await watching.says('Watching for changes.')
  await sandbox.file('watched.yml', "version: '1.0'\nsteps: {}\n")
  await watching.says('watched.yml is valid\n')
  watching.interrupt()
  const { code, stdout } = await watching.finished
  expect(code).toBe(0)
  expect(stdout.indexOf('watched.yml is not valid')).toBeLessThan(stdout.indexOf('watched.yml is valid\n'))
})

test('a run without a configured server prints how to get one', async () => {
  const { code, stderr } = await sandbox.run(['run', 'demo/app'])
  expect(code).toBe(5)
  expect(stderr).toMatch(/^error: No server is configured\.\nhint: .*windlass up.*\n$/)
})

test('`version` loads only the command line, pure packages and one library', async () => {
  const list = join(sandbox.folder, 'loaded')
  const hook = `import { registerHooks } from 'node:module'
import { appendFileSync } from 'node:fs'
registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(list)}, url + '\\n'); return next(url, context) } })
`
  // The sources: a bundle does not have the packages as files.
  const env = { ...process.env, NODE_OPTIONS: `--import=${await sandbox.file('hook.mjs', hook)}` }
  const { stdout } = await promisify(execFile)(SOURCES, ['version'], { env })
  expect(stdout).toMatch(/^windlass \d/)
  const loaded = await readFile(list, 'utf8')
  const names = (pattern: RegExp): string[] =>
    [...new Set(Array.from(loaded.matchAll(pattern), ([, name = '']) => name))].toSorted()
  expect(names(/\/node_modules\/([^/]+)\//g)).toEqual(['commander'])
  expect(names(/\/packages\/([^/]+)\/src\//g)).toEqual(['ansi', 'cli', 'kit', 'plan', 'protocol'])
  // Not the schemas of the protocol.
  expect(names(/\/packages\/protocol\/src\/(.*)/g)).toEqual(['agent/monitored-kinds.ts'])
})

test('prints help on standard output with exit code 0, and suggests a command for a mistyped one', async () => {
  const help = await sandbox.run(['run', '--help'])
  expect(help).toMatchObject({ code: 0, stderr: '' })
  expect(help.stdout).toContain('--source <folder>')
  const wrong = await sandbox.run(['valdate', 'x'])
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain('Did you mean validate?')
})

test('names an invalid configuration file', async () => {
  await sandbox.file('broken.yaml', 'contexts: 5\n')
  const { code, stderr } = await sandbox.run(['get', 'builds'], { env: { WINDLASS_CONFIG: `${sandbox.folder}/broken.yaml` } })
  expect(code).toBe(2)
  expect(stderr).toContain('broken.yaml is not a valid configuration file')
})

test('the bash completion script is valid and completes', async () => {
  const script = (await sandbox.run(['completion', 'bash'])).stdout
  const path = await sandbox.file('completion.bash', script)
  expect(script).toContain('complete -o filenames -F _windlass windlass')
  expect((await sandbox.run(['__complete', 'get', 'pipe'])).stdout).toBe('pipelines\n')
  expect(path).toBeTruthy()
})

test('exits quietly when the reader closes the pipe', async () => {
  const child = spawn('bash', ['-c', `"$0" run --help | head -1; echo "\${PIPESTATUS[0]}"`, SOURCES])
  let text = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  await once(child, 'close')
  expect(text).toMatch(/^Usage: windlass run/)
  expect(errors).toBe('')
})

test('migrate --dry-run needs no server, and says that nothing is compared', async () => {
  const folder = await sandbox.file(
    'moved.yml',
    "version: '1.0'\nkind: pipeline\nmetadata: {name: shop/app}\nspec:\n  steps: {a: {image: alpine, commands: [echo]}}\n",
  )
  const unreachable: Record<string, string> = { WINDLASS_URL: 'http://127.0.0.1:1', WINDLASS_API_KEY: 'a.b' }
  for (const more of [{}, unreachable]) {
    const { code, stdout, stderr } = await sandbox.run(['migrate', folder, '--dry-run'], { env: more })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('The report is not compared with a server.') })
    expect(stdout).toContain('pipeline/shop/app created (dry run)')
  }
  expect((await sandbox.run(['migrate', folder])).code).not.toBe(0)
})
