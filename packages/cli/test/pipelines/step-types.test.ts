/** Commands for step types, against a real `windlass up`. */
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runProgram } from '../../../../e2e/support/process.ts'
import { openSandbox, startUp, type Sandbox, type Up } from '../support.ts'

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

test('imports a catalog of step types from a repository, and says what it left out (P170)', async () => {
  const folder = join(sandbox.folder, 'catalog')
  const step = (name: string, version: string, steps = '{main: {image: x}}'): string =>
    `version: '1.0'\nkind: step-type\nmetadata: {name: ${name}, version: ${version}}\nspec:\n  steps: ${steps}\n`
  const files = {
    'a/step.yaml': step('acme/one', '1.0.0'),
    'a-next/step.yaml': step('acme/one', '1.1.0'),
    'copy/step.yaml': step('acme/one', '1.0.0', '{other: {image: x}}'),
    'broken/step.yaml': `${step('acme/two', '1', '[]')}  stepsTemplate: 5\n`,
    'graduated/build/step.yaml': step('build', '1.0.0', 'null'),
    'included/step.yaml': step('codefresh-run', '1.3.1'),
    'README.md': 'kind: step-type\n',
    'values.yaml': 'a: 1\n',
  }
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(folder, name, '..'), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  const git = (...args: string[]): Promise<string> =>
    runProgram('git', ['-C', folder, '-c', 'user.name=A', '-c', 'user.email=a@b.c', ...args])
  await git('init', '--quiet', '--initial-branch=main')
  await git('add', '.')
  await git('commit', '--quiet', '--message=steps')
  const skipped = [
    'skipped: broken/step.yaml: line 3: "version" must be a string. Current value: 1 [wrong-type] Put it in quotes: "1".',
    'skipped: broken/step.yaml: line 5: "steps" must be an object [wrong-type]',
    'skipped: broken/step.yaml: line 6: "stepsTemplate" must be a string. Current value: 5 [wrong-type] Put it in quotes: "5".',
    'skipped: copy/step.yaml: acme/one:1.0.0 is also in a/step.yaml, which is used.',
    'skipped: graduated/build/step.yaml: "build" is a type of the pipeline language.',
    'skipped: included/step.yaml: "codefresh-run" is included in Windlass.',
  ]
  const dry = await sandbox.call(['import', 'step-types', folder, '--dry-run'])
  expect(dry.stdout).toBe('step-type/acme/one:1.1.0 created (dry run)\nstep-type/acme/one:1.0.0 created (dry run)\n')
  expect(dry.stderr.trim().split('\n')).toEqual([...skipped, '2 of 6 step types can be loaded, 4 skipped.'])
  expect(dry.code).toBe(1)
  const first = await sandbox.call(['import', 'step-types', `file://${folder}`])
  expect(first).toMatchObject({ code: 1, stdout: 'step-type/acme/one:1.1.0 created\nstep-type/acme/one:1.0.0 created\n' })
  await writeFile(join(folder, 'a/step.yaml'), `${files['a/step.yaml']}# changed\n`)
  const second = await sandbox.call(['import', 'step-types', folder])
  expect(second.stdout).toBe('step-type/acme/one:1.1.0 unchanged\n')
  expect(second.stderr).toContain('skipped: a/step.yaml: the server has another acme/one:1.0.0; --overwrite replaces it.')
  const third = await sandbox.call(['import', 'step-types', folder, '--overwrite'])
  expect(third.stdout).toBe('step-type/acme/one:1.1.0 unchanged\nstep-type/acme/one:1.0.0 configured\n')
  const withPassword = await sandbox.call(['import', 'step-types', `http://ci:hunter2@127.0.0.1:1/none.git`])
  expect(withPassword.stderr).toContain('The catalog cannot be cloned: ')
  expect(withPassword.stdout + withPassword.stderr).not.toContain('hunter2')
  expect(await sandbox.call(['import', 'step-types', `file://${folder}-none`])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('The catalog cannot be cloned: '),
  })
  expect((await sandbox.call(['import', 'step-types', join(folder, 'nothing')])).code).toBe(3)
  for (const version of ['1.0.0', '1.1.0']) await sandbox.call(['delete', 'step-type', `acme/one:${version}`])
})

test('an import ends with 0 if it skips nothing', async () => {
  const folder = join(sandbox.folder, 'whole')
  await mkdir(folder)
  await writeFile(
    join(folder, 'step.yaml'),
    "version: '1.0'\nkind: step-type\nmetadata: {name: acme/whole, version: 1.0.0}\nspec: {steps: {main: {image: x}}}\n",
  )
  expect(await sandbox.call(['import', 'step-types', folder, '--dry-run'])).toMatchObject({
    code: 0,
    stderr: '1 of 1 step types can be loaded.\n',
  })
})

test('an import ends with 1 if the server refuses a manifest, and sends the others', async () => {
  const folder = join(sandbox.folder, 'many')
  await mkdir(folder)
  const manifest = (n: number): string =>
    `version: '1.0'\nkind: step-type\nmetadata: {name: acme/many, version: 0.0.${n}}\nspec: {steps: {main: {image: x}}}\n`
  await Promise.all(Array.from({ length: 501 }, (_, n) => writeFile(join(folder, `${n}.yaml`), manifest(n))))
  const { code, stderr } = await sandbox.call(['import', 'step-types', folder])
  expect(stderr).toContain('The step type "acme/many" has 500 versions; delete some first.')
  expect(stderr).toContain('500 of 501 step types are on the server, 1 skipped.')
  expect(code).toBe(1)
})

test('an interrupted import leaves no clone behind', async () => {
  const asked = Promise.withResolvers<void>()
  const silent = createServer(() => asked.resolve())
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const address = silent.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const temporary = join(sandbox.folder, 'temporary')
  await mkdir(temporary)
  const clones = async (): Promise<string[]> => (await readdir(temporary)).filter((name) => name.includes('catalog'))
  const url = `http://127.0.0.1:${port}/steps.git`
  const started = sandbox.start(['import', 'step-types', url], { env: { TMPDIR: temporary } })
  try {
    await asked.promise
    expect(await clones()).toHaveLength(1)
    started.interrupt()
    expect((await started.finished).code).toBe(130)
    expect(await clones()).toEqual([])
  } finally {
    silent.closeAllConnections()
    silent.close()
  }
})

test('creates, lists, replaces, uses and deletes versions of step types (P170)', async () => {
  const manifest = (version: string, text: string): Promise<string> =>
    sandbox.file(
      `greet-${Math.random()}.yml`,
      [
        "version: '1.0'",
        'kind: step-type',
        `metadata: {name: acme/greet, version: ${version}, description: Greets.}`,
        'spec:',
        '  arguments: {type: object, required: [WHO], properties: {WHO: {type: string}}}',
        `  steps: {main: {image: ${sandbox.images['SHELL_IMAGE']}, commands: ['echo ${text} \${{WHO}}']}}`,
        '',
      ].join('\n'),
    )
  expect(await sandbox.call(['create', 'step-type', '-f', await manifest('1.0.0', 'hi')])).toMatchObject({
    code: 0,
    stdout: 'step-type/acme/greet:1.0.0 created\n',
  })
  expect((await sandbox.call(['apply', '-f', await manifest('1.1.0', 'hello')])).stdout).toBe(
    'step-type/acme/greet:1.1.0 created\n',
  )
  const versions = await sandbox.call(['get', 'step-types', 'acme/greet', '--versions', '-o', 'name'])
  expect(versions.stdout).toBe('step-type/acme/greet:1.1.0\nstep-type/acme/greet:1.0.0\n')
  expect((await sandbox.call(['replace', 'step-type', '-f', await manifest('1.0.0', 'ciao')])).stdout).toBe(
    'step-type/acme/greet:1.0.0 replaced\n',
  )
  expect((await sandbox.call(['replace', 'step-type', '-f', await manifest('9.0.0', 'x')])).code).toBe(3)
  const yaml = await sandbox.call(['get', 'step-types', 'acme/greet:1.0.0', '-o', 'yaml'])
  expect(yaml.stdout).toContain('echo ciao')
  const use = await sandbox.file('use.yml', "version: '1.0'\nsteps: {a: {type: 'acme/greet:1.0.0', arguments: {WHO: you}}}\n")
  const run = await sandbox.call(['run', '-f', use])
  expect(run.code).toBe(0)
  expect(run.stdout).toContain('ciao you')
  expect(run.stdout).toContain('Step types: acme/greet:1.0.0')
  expect((await sandbox.call(['delete', 'step-type', 'acme/greet:1.0.0'])).code).toBe(0)
  const gone = await sandbox.call(['run', '-f', use])
  expect(gone.code).toBe(1)
  expect(gone.stdout + gone.stderr).toContain('Known version: 1.1.0.')
})
