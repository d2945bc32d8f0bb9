/** Commands against a real `windlass up`. */
import { readFile, stat } from 'node:fs/promises'
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

const document = (steps: Record<string, string[]>): Promise<string> => desk.file(`p${Math.random()}.yml`, pipelineOf(desk, steps))
const idIn = (text: string): string => /[0-9a-f]{24}/.exec(text)?.[0] ?? ''

test('exit code 0: a build that succeeds, with its log, durations and summary on standard output', async () => {
  const { code, stdout, stderr } = await desk.run([
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

test('exit code 1: a build that fails, with the step and its exit code', async () => {
  const { code, stdout } = await desk.run(['run', '-f', await document({ bad: ['echo broken', 'exit 7'], after: ['echo no'] })])
  expect(code).toBe(1)
  expect(stdout).toMatch(/✖ bad .*7/)
  expect(stdout).toMatch(/after +– skipped +not-reached/)
  expect(stdout).toMatch(/✖ Build [0-9a-f]{24} failed after .*: step bad: /)
})

test('exit code 1: an invalid document tells its problems with places, and no step runs', async () => {
  const path = await desk.file('invalid.yml', 'version: "1.0"\nsteps:\n  a:\n    image: alpine\n    commands: 5\n')
  const { code, stdout, stderr } = await desk.run(['run', '-f', path])
  expect(code).toBe(1)
  expect(stdout + stderr).toMatch(/:5:\d+: error: .*commands/)
  expect(stdout).not.toContain('▶')
})

test('exit code 2: a wrong command line, with a hint', async () => {
  for (const words of [
    ['run'],
    ['run', '--bogus'],
    ['get', 'nonsense'],
    ['logs'],
    ['run', '-f', 'x', '--tail', '5'],
    ['bogus'],
  ]) {
    const { code, stderr } = await desk.run(words)
    expect(code, words.join(' ')).toBe(2)
    expect(stderr).toMatch(/^error: .+\nhint: .+\n$/)
  }
})

test('exit code 2: a build that was terminated, whoever follows it', async () => {
  const run = desk.start(['run', '-f', await document({ slow: ['echo begun', 'sleep 60'] })])
  await run.says('begun')
  const { code, stdout } = await desk.run(['terminate', idIn(run.stdout())])
  expect(code).toBe(0)
  expect(stdout).toContain('is being terminated')
  const finished = await run.finished
  expect(finished.code).toBe(2)
  expect(finished.stdout).toMatch(/■ Build [0-9a-f]{24} was terminated/)
})

test('exit code 3: there is no such thing, and the nearest name is told', async () => {
  await desk.run(['apply', '-f', await document({ a: ['true'] }), '--name', 'near/app'])
  const missing = await desk.run(['get', 'pipelines', 'near/ap'])
  expect(missing).toMatchObject({
    code: 3,
    stdout: '',
    stderr: "error: There is no pipeline 'near/ap'.\nhint: Did you mean 'near/app'?\n",
  })
  expect(await desk.run(['logs', '0'.repeat(24)])).toMatchObject({ code: 3 })
  expect(await desk.run(['run', 'no/such'])).toMatchObject({ code: 3 })
  expect(await desk.run(['validate', 'no-such-file.yml'])).toMatchObject({ code: 3 })
})

test('exit code 4: a key that is wrong, or may not do that', async () => {
  const wrong = await desk.run(['get', 'builds'], {
    env: { WINDLASS_URL: up.url, WINDLASS_API_KEY: `${'0'.repeat(24)}.${'x'.repeat(43)}` },
  })
  expect(wrong).toMatchObject({ code: 4, stdout: '' })
  const viewer = (await desk.run(['create', 'key', 'looker', '--role', 'viewer'])).stdout.trim()
  const env = { WINDLASS_URL: up.url, WINDLASS_API_KEY: viewer }
  expect(await desk.run(['get', 'builds'], { env })).toMatchObject({ code: 0 })
  expect(await desk.run(['run', '-f', await document({ a: ['true'] })], { env })).toMatchObject({ code: 4 })
})

test('exit code 5: the server cannot be reached', async () => {
  const { code, stderr } = await desk.run(['get', 'builds'], { env: { WINDLASS_URL: 'http://127.0.0.1:1' } })
  expect(code).toBe(5)
  expect(stderr).toMatch(/^error: The server at http:\/\/127\.0\.0\.1:1 cannot be reached: .+\nhint: .+\n$/)
})

test('exit code 130: the first Ctrl-C leaves the build running and says how to terminate it', async () => {
  const run = desk.start(['run', '-f', await document({ slow: ['echo begun', 'sleep 4', 'echo done'] })])
  await run.says('begun')
  run.interrupt()
  const { code, stdout, stderr } = await run.finished
  const id = idIn(stdout)
  expect(code).toBe(130)
  expect(stderr).toContain(`windlass terminate ${id}`)
  expect(await desk.run(['wait', id])).toMatchObject({ code: 0, stdout: `build/${id} success\n` })
})

test('exit code 130: the second Ctrl-C terminates the build', async () => {
  const run = desk.start(['run', '-f', await document({ slow: ['echo begun', 'sleep 60'] })])
  await run.says('begun')
  run.interrupt()
  await run.says('Press Ctrl-C again')
  run.interrupt()
  expect((await run.finished).code).toBe(130)
  expect(await desk.run(['wait', idIn(run.stdout())])).toMatchObject({ code: 2 })
})

test('run -o json leaves one object on standard output and the log on standard error', async () => {
  const { code, stdout, stderr } = await desk.run([
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

test('P177: a detached build is followed, waited for, described and read again', async () => {
  const path = await document({ one: ['for n in $(seq 1 9); do echo "line $n"; done'], two: ['echo end'] })
  const id = (await desk.run(['run', '-f', path, '-d'])).stdout.trim()
  expect(id).toMatch(/^[0-9a-f]{24}$/)
  const followed = await desk.run(['logs', '-f', id])
  expect(followed.code).toBe(0)
  expect(followed.stdout).toContain('line 9\n')
  const again = await desk.run(['logs', id])
  expect(again.stdout).toContain('▶ one\n')
  expect(again.stdout.match(/^line \d$/gm)).toHaveLength(9)
  const step = await desk.run(['logs', id, '--step', 'one', '--tail', '2'])
  expect(step.stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(2)
  expect((await desk.run(['logs', id, '--step', 'one'])).stdout).not.toContain('end\n')
  expect((await desk.run(['logs', id, '--step', 'nine'])).code).toBe(3)
  expect((await desk.run(['logs', id, '--timestamps', '--step', 'two'])).stdout).toMatch(/^\d{4}-\d\d-\d\dT.*Z end$/m)
  expect((await desk.run(['describe', 'build', id])).stdout).toMatch(/Status: +success/)
  expect(JSON.parse((await desk.run(['wait', id, '-o', 'json'])).stdout)).toMatchObject({ id, status: 'success' })
})

test('a log of 30 MB comes whole, live and afterwards, byte for byte', async () => {
  const path = await document({ loud: ['seq 1 4000000'] })
  const id = (await desk.run(['run', '-f', path, '-d'])).stdout.trim()
  const numbers = (text: string): string =>
    text
      .split('\n')
      .filter((line) => /^\d+$/.test(line))
      .join('\n')
  const followed = await desk.run(['logs', '-f', id, '--step', 'loud'])
  const again = await desk.run(['logs', id, '--step', 'loud'])
  const whole = Array.from({ length: 4_000_000 }, (_, index) => index + 1).join('\n')
  expect(numbers(followed.stdout) === whole).toBe(true)
  expect(numbers(again.stdout) === whole).toBe(true)
  expect((await desk.run(['logs', id, '--tail', '3'])).stdout).toContain('4000000\n')
})

test('a stored pipeline runs with its variables, and again by restart', async () => {
  const text = `kind: project\nmetadata: { name: shop }\nspec: { variables: { LEVEL: project } }\n---\nkind: pipeline\nmetadata: { name: shop/app }\nspec:\n  variables: [{ key: WHO, value: Ann }]\n  steps:\n    say: { image: '${desk.images['SHELL_IMAGE']}', commands: ['echo $WHO on $CF_BRANCH at $LEVEL'] }\n`
  const path = await desk.file('shop.yml', text)
  expect(await desk.run(['apply', '-f', path])).toMatchObject({
    code: 0,
    stdout: 'project/shop created\npipeline/shop/app created\n',
  })
  expect((await desk.run(['apply', '-f', '-'], { input: text })).stdout).toBe(
    'project/shop configured\npipeline/shop/app configured\n',
  )
  expect(await desk.run(['create', '-f', path])).toMatchObject({ code: 1 })
  const first = await desk.run(['run', 'shop/app', '-b', 'main'])
  expect(first.stdout).toContain('Ann on main at project\n')
  const again = await desk.run(['restart', idIn(first.stdout)])
  expect(again.code).toBe(0)
  expect(again.stdout).toContain('Ann on main at project\n')
  const own = await desk.run(['run', 'shop/app', '-b', 'main', '-v', 'WHO=Bob'])
  expect(own.stdout).toContain('Bob on main at project\n')
  expect(await desk.run(['delete', 'pipeline', 'shop/app'])).toMatchObject({ code: 0, stdout: 'pipeline/shop/app deleted\n' })
})

test('an invalid document is not applied, and its problems are at their lines in a file of several', async () => {
  const path = await desk.file(
    'two.yml',
    'kind: project\nmetadata: { name: ok }\nspec: {}\n---\nkind: pipeline\nmetadata: { name: ok/p }\nspec:\n  steps:\n    a:\n      image: alpine\n      commands: 5\n',
  )
  const { code, stderr } = await desk.run(['apply', '-f', path])
  expect(code).toBe(1)
  expect(stderr).toMatch(/two\.yml:11:\d+: error: /)
})

test('a pipeline that lacks something in its account is applied, and what it lacks is told at its line', async () => {
  const path = await desk.file(
    'lacking.yml',
    'kind: project\nmetadata: { name: lack }\nspec: {}\n---\nkind: pipeline\nmetadata: { name: lack/p }\nspec:\n  steps:\n    a:\n      type: push\n      candidate: x\n',
  )
  const { code, stdout, stderr } = await desk.run(['apply', '-f', path])
  expect(code).toBe(0)
  expect(stdout).toContain('pipeline/lack/p created')
  expect(stderr).toMatch(/lacking\.yml:9:\d+: error: there is no registry integration to push to/)
})

test('a secret is masked in the log and comes from the environment', async () => {
  const path = await document({ tell: ['echo "[$TOKEN]"'] })
  const { code, stdout } = await desk.run(['run', '-f', path, '-S', 'TOKEN'], { env: { TOKEN: 'correct-horse-battery' } })
  expect(code).toBe(0)
  expect(stdout).not.toContain('correct-horse-battery')
  expect(stdout).toMatch(/\[\*+\]/)
})

test('get prints tables, names, JSON and YAML', async () => {
  expect((await desk.run(['get', 'runtimes'])).stdout).toMatch(
    /^NAME +TYPE +DEFAULT +AGENT .*\nlocal +docker +yes +local \(online\)/,
  )
  expect((await desk.run(['get', 'runtimes', '--no-headers'])).stdout).toMatch(/^local +docker/)
  expect((await desk.run(['get', 'runtimes', '-o', 'name'])).stdout).toBe('runtime/local\n')
  expect(JSON.parse((await desk.run(['get', 'agents', 'local', '-o', 'json'])).stdout)).toMatchObject({
    name: 'local',
    status: 'online',
  })
  expect((await desk.run(['get', 'agents', '-o', 'yaml'])).stdout).toMatch(/^- id: /)
  expect((await desk.run(['get', 'builds', '--limit', '1', '-o', 'name'])).stdout).toMatch(/^build\/[0-9a-f]{24}\n$/)
  expect(await desk.run(['get', 'contexts'])).toMatchObject({ code: 0, stdout: '', stderr: 'No contexts found.\n' })
})

test('a context of variables reaches the build', async () => {
  const path = await desk.file(
    'context.yml',
    'kind: context\nmetadata: { name: shared }\nspec: { type: config, data: { COLOUR: green } }\n',
  )
  await desk.run(['apply', '-f', path])
  const { stdout } = await desk.run(['run', '-f', await document({ say: ['echo it is $COLOUR'] }), '-c', 'shared'])
  expect(stdout).toContain('it is green\n')
})

test('login keeps the key out of the command line, and the file of contexts private', async () => {
  const env = { WINDLASS_CONFIG: `${desk.folder}/other.yaml` }
  const login = await desk.run(['auth', 'login', '--url', up.url, '--name', 'mine'], { env, input: `${up.adminKey}\n` })
  expect(login).toMatchObject({ code: 0, stdout: `Logged in to ${up.url} as context 'mine'.\n` })
  expect((await stat(env.WINDLASS_CONFIG)).mode & 0o777).toBe(0o600)
  expect((await desk.run(['auth', 'current'], { env })).stdout).toMatch(
    /Context: +mine\nServer: .*\nVersion: .*\nKey: +admin \(role admin\)\n/,
  )
  expect(await desk.run(['auth', 'login', '--url', up.url], { env, input: 'nonsense' })).toMatchObject({ code: 4 })
  expect(await desk.run(['auth', 'use', 'nobody'], { env })).toMatchObject({ code: 3 })
  expect((await desk.run(['auth', 'contexts'], { env })).stdout).toMatch(/\* +mine /)
  await desk.run(['auth', 'logout'], { env })
  expect(await readFile(env.WINDLASS_CONFIG, 'utf8')).not.toContain(up.adminKey)
})

test('P170: step types are created, listed, replaced, used and deleted by their versions', async () => {
  const manifest = (version: string, text: string): Promise<string> =>
    desk.file(
      `greet-${Math.random()}.yml`,
      [
        "version: '1.0'",
        'kind: step-type',
        `metadata: {name: acme/greet, version: ${version}, description: Greets.}`,
        'spec:',
        '  arguments: {type: object, required: [WHO], properties: {WHO: {type: string}}}',
        `  steps: {main: {image: ${desk.images['SHELL_IMAGE']}, commands: ['echo ${text} \${{WHO}}']}}`,
        '',
      ].join('\n'),
    )
  expect(await desk.run(['create', 'step-type', '-f', await manifest('1.0.0', 'hi')])).toMatchObject({
    code: 0,
    stdout: 'step-type/acme/greet:1.0.0 created\n',
  })
  expect((await desk.run(['apply', '-f', await manifest('1.1.0', 'hello')])).stdout).toBe('step-type/acme/greet:1.1.0 created\n')
  const versions = await desk.run(['get', 'step-types', 'acme/greet', '--versions', '-o', 'name'])
  expect(versions.stdout).toBe('step-type/acme/greet:1.1.0\nstep-type/acme/greet:1.0.0\n')
  expect((await desk.run(['replace', 'step-type', '-f', await manifest('1.0.0', 'ciao')])).stdout).toBe(
    'step-type/acme/greet:1.0.0 replaced\n',
  )
  expect((await desk.run(['replace', 'step-type', '-f', await manifest('9.0.0', 'x')])).code).toBe(3)
  const yaml = await desk.run(['get', 'step-types', 'acme/greet:1.0.0', '-o', 'yaml'])
  expect(yaml.stdout).toContain('echo ciao')
  const use = await desk.file('use.yml', "version: '1.0'\nsteps: {a: {type: 'acme/greet:1.0.0', arguments: {WHO: you}}}\n")
  const run = await desk.run(['run', '-f', use])
  expect(run.code).toBe(0)
  expect(run.stdout).toContain('ciao you')
  expect(run.stdout).toContain('Step types: acme/greet:1.0.0')
  expect((await desk.run(['delete', 'step-type', 'acme/greet:1.0.0'])).code).toBe(0)
  const gone = await desk.run(['run', '-f', use])
  expect(gone.code).toBe(1)
  expect(gone.stdout + gone.stderr).toContain('The latest version is 1.1.0.')
})
