/** Commands against a real `windlass up`. */
import { readFile, stat } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { letGo, UNTIL_LET_GO } from '../../../../e2e/support/steps.ts'
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

const document = (steps: Record<string, string[]>): Promise<string> =>
  sandbox.file(`p${Math.random()}.yml`, pipelineOf(sandbox, steps))
const idIn = (text: string): string => /[0-9a-f]{24}/.exec(text)?.[0] ?? ''

test('exit code 0: a successful build, with its log, durations and summary on standard output', async () => {
  const { code, stdout, stderr } = await sandbox.run([
    'run',
    '-f',
    await document({ hello: ['echo hello $NAME'] }),
    '-v',
    'NAME=Ann',
  ])
  expect(stderr).toBe('')
  expect(code).toBe(0)
  expect(stdout).toMatch(/▶ hello\n(?:\[SYSTEM\].*\n)*hello Ann\n(?:\[SYSTEM\].*\n)*✔ hello {2}\d/)
  expect(stdout).toMatch(/STEP +STATUS +TIME +REASON\nhello +✔ success/)
  expect(stdout).toMatch(/✔ Build [0-9a-f]{24} succeeded after /)
})

test('exit code 1: a failed build, with the step and its exit code', async () => {
  const { code, stdout } = await sandbox.run([
    'run',
    '-f',
    await document({ bad: ['echo broken', 'exit 7'], after: ['echo no'] }),
  ])
  expect(code).toBe(1)
  expect(stdout).toMatch(/\[SYSTEM\] Exit code 7\.\n✖ bad /)
  expect(stdout).toMatch(/after +– skipped +not-reached/)
  expect(stdout).toMatch(/✖ Build [0-9a-f]{24} failed after .*: step bad: /)
})

test('exit code 1: an invalid document, with problems and positions, and no step runs', async () => {
  const path = await sandbox.file('invalid.yml', 'version: "1.0"\nsteps:\n  a:\n    image: alpine\n    commands: 5\n')
  const { code, stdout, stderr } = await sandbox.run(['run', '-f', path])
  expect(code).toBe(1)
  expect(stdout + stderr).toMatch(/:5:\d+: error: .*commands/)
  expect(stdout).not.toContain('▶')
})

test('exit code 2: a wrong command line, with a hint', async () => {
  for (const words of [['run'], ['run', '--bogus'], ['get', 'nonsense'], ['logs'], ['run', '-f', 'x', '--tail', '5']]) {
    const { code, stderr } = await sandbox.call(words)
    expect(code, words.join(' ')).toBe(2)
    expect(stderr).toMatch(/^error: .+\nhint: .+\n$/)
  }
  expect(await sandbox.run(['bogus'])).toMatchObject({ code: 2, stderr: expect.stringMatching(/^error: .+\nhint: .+\n$/) })
})

test('exit code 2: a terminated build, for every follower', async () => {
  const run = sandbox.start(['run', '-f', await document({ slow: ['echo begun', 'sleep 60'] })])
  await run.says('begun')
  const { code, stdout } = await sandbox.call(['terminate', idIn(run.stdout())])
  expect(code).toBe(0)
  expect(stdout).toContain('is being terminated')
  const finished = await run.finished
  expect(finished.code).toBe(2)
  expect(finished.stdout).toMatch(/■ Build [0-9a-f]{24} was terminated/)
})

test('exit code 3: a resource that does not exist, with the nearest name', async () => {
  await sandbox.call(['apply', '-f', await document({ a: ['true'] }), '--name', 'near/app'])
  const missing = await sandbox.run(['get', 'pipelines', 'near/ap'])
  expect(missing).toMatchObject({
    code: 3,
    stdout: '',
    stderr: 'error: The pipeline "near/ap" does not exist.\nhint: Did you mean "near/app"?\n',
  })
  expect(await sandbox.call(['logs', '0'.repeat(24)])).toMatchObject({ code: 3 })
  expect(await sandbox.call(['logs', 'app'])).toMatchObject({
    code: 3,
    stderr: 'error: "app" is not a build id.\nhint: List builds with `windlass get builds`.\n',
  })
  expect(await sandbox.call(['run', 'no/such'])).toMatchObject({ code: 3 })
  expect(await sandbox.call(['validate', 'no-such-file.yml'])).toMatchObject({ code: 3 })
})

test('exit code 4: an invalid key, or one without permission', async () => {
  const wrong = await sandbox.run(['get', 'builds'], {
    env: { WINDLASS_URL: up.url, WINDLASS_API_KEY: `${'0'.repeat(24)}.${'x'.repeat(43)}` },
  })
  expect(wrong).toMatchObject({ code: 4, stdout: '' })
  const viewer = (await sandbox.call(['create', 'key', 'looker', '--role', 'viewer'])).stdout.trim()
  const env = { WINDLASS_URL: up.url, WINDLASS_API_KEY: viewer }
  expect(await sandbox.call(['get', 'builds'], { env })).toMatchObject({ code: 0 })
  expect(await sandbox.call(['run', '-f', await document({ a: ['true'] })], { env })).toMatchObject({ code: 4 })
})

test('exit code 5: an unreachable server', async () => {
  const { code, stderr } = await sandbox.run(['get', 'builds'], { env: { WINDLASS_URL: 'http://127.0.0.1:1' } })
  expect(code).toBe(5)
  expect(stderr).toMatch(/^error: The server at http:\/\/127\.0\.0\.1:1 cannot be reached: .+\nhint: .+\n$/)
})

test('exit code 130: the first Ctrl-C leaves the build running and prints how to terminate it', async () => {
  const run = sandbox.start(['run', '-f', await document({ slow: ['echo begun', UNTIL_LET_GO, 'echo done'] })])
  await run.says('begun')
  run.interrupt()
  const { code, stdout, stderr } = await run.finished
  const id = idIn(stdout)
  expect(code).toBe(130)
  expect(stderr).toContain(`windlass terminate ${id}`)
  await letGo(id)
  expect(await sandbox.call(['wait', id])).toMatchObject({ code: 0, stdout: `build/${id} success\n` })
})

test('exit code 130: the second Ctrl-C terminates the build', async () => {
  const run = sandbox.start(['run', '-f', await document({ slow: ['echo begun', 'sleep 60'] })])
  await run.says('begun')
  run.interrupt()
  await run.says('Press Ctrl-C again')
  run.interrupt()
  expect((await run.finished).code).toBe(130)
  expect(await sandbox.call(['wait', idIn(run.stdout())])).toMatchObject({ code: 2 })
})

test('run -o json prints one object on standard output and the log on standard error', async () => {
  const { code, stdout, stderr } = await sandbox.run([
    'run',
    '-f',
    await document({ ok: ['echo fine'], bad: ['exit 3'] }),
    '-o',
    'json',
  ])
  expect(code).toBe(1)
  expect(stderr).toContain('fine\n')
  expect(JSON.parse(stdout)).toMatchObject({
    status: 'error',
    reason: 'step-failed',
    steps: [
      { name: 'ok', status: 'success', reason: null, exitCode: 0, startedAt: expect.any(Number), finishedAt: expect.any(Number) },
      {
        name: 'bad',
        status: 'error',
        reason: 'exit-code',
        exitCode: 3,
        startedAt: expect.any(Number),
        finishedAt: expect.any(Number),
      },
    ],
  })
})

test('follows, waits for, describes and reads a detached build (P177)', async () => {
  const path = await document({ one: ['for n in $(seq 1 9); do echo "line $n"; done'], two: ['echo end'] })
  const id = (await sandbox.call(['run', '-f', path, '-d'])).stdout.trim()
  expect(id).toMatch(/^[0-9a-f]{24}$/)
  const followed = await sandbox.run(['logs', '-f', id])
  expect(followed.code).toBe(0)
  expect(followed.stdout).toContain('line 9\n')
  const again = await sandbox.call(['logs', id])
  expect(again.stdout).toContain('▶ one\n')
  expect(again.stdout.match(/^line \d$/gm)).toHaveLength(9)
  const step = await sandbox.call(['logs', id, '--step', 'one', '--tail', '2'])
  expect(step.stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(2)
  expect((await sandbox.call(['logs', id, '--step', 'one'])).stdout).not.toContain('end\n')
  expect((await sandbox.call(['logs', id, '--step', 'nine'])).code).toBe(3)
  expect((await sandbox.call(['logs', id, '--timestamps', '--step', 'two'])).stdout).toMatch(/^\d{4}-\d\d-\d\dT.*Z end$/m)
  expect((await sandbox.call(['describe', 'build', id])).stdout).toMatch(/Status: +success/)
  expect(JSON.parse((await sandbox.call(['wait', id, '-o', 'json'])).stdout)).toMatchObject({ id, status: 'success' })
})

test('shows a log of 12 MB byte for byte, live and afterwards', async () => {
  const path = await document({ loud: ['seq 1 1600000'] })
  const id = (await sandbox.call(['run', '-f', path, '-d'])).stdout.trim()
  const numbers = (text: string): string =>
    text
      .split('\n')
      .filter((line) => /^\d+$/.test(line))
      .join('\n')
  const followed = await sandbox.run(['logs', '-f', id, '--step', 'loud'])
  const again = await sandbox.run(['logs', id, '--step', 'loud'])
  const whole = Array.from({ length: 1_600_000 }, (_, index) => index + 1).join('\n')
  expect(numbers(followed.stdout) === whole).toBe(true)
  expect(numbers(again.stdout) === whole).toBe(true)
  expect((await sandbox.call(['logs', id, '--tail', '3'])).stdout).toContain('1600000\n')
})

test('runs a stored pipeline with its variables, and restarts it', async () => {
  const text = `kind: project\nmetadata: { name: shop }\nspec: { variables: { LEVEL: project } }\n---\nkind: pipeline\nmetadata: { name: shop/app }\nspec:\n  variables: [{ key: WHO, value: Ann }]\n  steps:\n    say: { image: '${sandbox.images['SHELL_IMAGE']}', commands: ['echo $WHO on $CF_BRANCH at $LEVEL'] }\n`
  const path = await sandbox.file('shop.yml', text)
  expect(await sandbox.run(['apply', '-f', path])).toMatchObject({
    code: 0,
    stdout: 'project/shop created\npipeline/shop/app created\n',
  })
  expect((await sandbox.run(['apply', '-f', '-'], { input: text })).stdout).toBe(
    'project/shop configured\npipeline/shop/app configured\n',
  )
  expect(await sandbox.call(['create', '-f', path])).toMatchObject({ code: 1 })
  const first = await sandbox.call(['run', 'shop/app', '-b', 'main'])
  expect(first.stdout).toContain('Ann on main at project\n')
  const again = await sandbox.call(['restart', idIn(first.stdout)])
  expect(again.code).toBe(0)
  expect(again.stdout).toContain('Ann on main at project\n')
  const own = await sandbox.call(['run', 'shop/app', '-b', 'main', '-v', 'WHO=Bob'])
  expect(own.stdout).toContain('Bob on main at project\n')
  expect(await sandbox.call(['delete', 'pipeline', 'shop/app'])).toMatchObject({ code: 0, stdout: 'pipeline/shop/app deleted\n' })
})

test('does not apply an invalid document, and reports problems at their lines in the file', async () => {
  const path = await sandbox.file(
    'two.yml',
    'kind: project\nmetadata: { name: ok }\nspec: {}\n---\nkind: pipeline\nmetadata: { name: ok/p }\nspec:\n  steps:\n    a:\n      image: alpine\n      commands: 5\n',
  )
  const { code, stderr } = await sandbox.call(['apply', '-f', path])
  expect(code).toBe(1)
  expect(stderr).toMatch(/two\.yml:11:\d+: error: /)
})

test('reports fields that only the server knows at their document in the file', async () => {
  const path = await sandbox.file(
    'fields.yml',
    'kind: project\nmetadata: { name: ok }\nspec: {}\n---\nkind: context\nmetadata: { name: forge }\nspec: { type: git, data: { url: https://git.example.com, token: x } }\n',
  )
  const { code, stderr } = await sandbox.call(['apply', '-f', path])
  expect(code).toBe(1)
  expect(stderr).toContain('error: The context "forge" in ')
  expect(stderr).toMatch(/fields\.yml:5: error: unknown field "token" in a git context; known fields: url, /)
})

test('applies a pipeline that lacks something in its account, and reports it at its line', async () => {
  const path = await sandbox.file(
    'lacking.yml',
    'kind: project\nmetadata: { name: lack }\nspec: {}\n---\nkind: pipeline\nmetadata: { name: lack/p }\nspec:\n  steps:\n    a:\n      type: push\n      candidate: x\n',
  )
  const { code, stdout, stderr } = await sandbox.call(['apply', '-f', path])
  expect(code).toBe(0)
  expect(stdout).toContain('pipeline/lack/p created')
  expect(stderr).toMatch(/lacking\.yml:9:\d+: error: the account has no registry integration to push to/)
})

test('reads a secret from the environment and masks it in the log', async () => {
  const path = await document({ tell: ['echo "[$TOKEN]"'] })
  const { code, stdout } = await sandbox.run(['run', '-f', path, '-S', 'TOKEN'], { env: { TOKEN: 'correct-horse-battery' } })
  expect(code).toBe(0)
  expect(stdout).not.toContain('correct-horse-battery')
  expect(stdout).toMatch(/\[\*+\]/)
})

test('get prints tables, names, JSON and YAML', async () => {
  expect((await sandbox.call(['get', 'runtimes'])).stdout).toMatch(
    /^NAME +TYPE +DEFAULT +AGENT .*\nlocal +docker +yes +local \(online\)/,
  )
  expect((await sandbox.call(['get', 'runtimes', '--no-headers'])).stdout).toMatch(/^local +docker/)
  expect((await sandbox.call(['get', 'runtimes', '-o', 'name'])).stdout).toBe('runtime/local\n')
  expect(JSON.parse((await sandbox.call(['get', 'agents', 'local', '-o', 'json'])).stdout)).toMatchObject({
    name: 'local',
    status: 'online',
  })
  expect((await sandbox.call(['get', 'agents', '-o', 'yaml'])).stdout).toMatch(/^- id: /)
  expect((await sandbox.call(['get', 'builds', '--limit', '1', '-o', 'name'])).stdout).toMatch(/^build\/[0-9a-f]{24}\n$/)
  expect(await sandbox.call(['get', 'contexts'])).toMatchObject({ code: 0, stdout: '', stderr: 'No contexts found.\n' })
})

test('passes the variables of a context to the build', async () => {
  const path = await sandbox.file(
    'context.yml',
    'kind: context\nmetadata: { name: shared }\nspec: { type: config, data: { COLOUR: green } }\n',
  )
  await sandbox.call(['apply', '-f', path])
  const { stdout } = await sandbox.call(['run', '-f', await document({ say: ['echo it is $COLOUR'] }), '-c', 'shared'])
  expect(stdout).toContain('it is green\n')
})

test('login keeps the key off the command line, and the configuration file private', async () => {
  const env = { WINDLASS_CONFIG: `${sandbox.folder}/other.yaml` }
  const login = await sandbox.run(['auth', 'login', '--url', up.url, '--name', 'mine'], { env, input: `${up.adminKey}\n` })
  expect(login).toMatchObject({ code: 0, stdout: `Logged in to ${up.url} as context "mine".\n` })
  expect((await stat(env.WINDLASS_CONFIG)).mode & 0o777).toBe(0o600)
  expect((await sandbox.call(['auth', 'current'], { env })).stdout).toMatch(
    /Context: +mine\nServer: .*\nVersion: .*\nKey: +admin \(role admin\)\n/,
  )
  expect(await sandbox.run(['auth', 'login', '--url', up.url], { env, input: 'nonsense' })).toMatchObject({ code: 4 })
  expect(await sandbox.call(['auth', 'use', 'nobody'], { env })).toMatchObject({ code: 3 })
  expect((await sandbox.call(['auth', 'contexts'], { env })).stdout).toMatch(/\* +mine /)
  await sandbox.call(['auth', 'logout'], { env })
  expect(await readFile(env.WINDLASS_CONFIG, 'utf8')).not.toContain(up.adminKey)
})
