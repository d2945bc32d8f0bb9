/** `migrate`, from files and from one real `windlass up` to another. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openSandbox, startUp, type Finished, type Sandbox, type Up } from '../support.ts'

const EXAMPLES = join(import.meta.dirname, '../../../../examples')

const ACCOUNT = `kind: project
metadata: {name: demo}
spec: {variables: {REGION: eu}}
---
kind: context
metadata: {name: shared}
spec: {type: secret, data: {TOKEN: topsecret}}
---
kind: context
metadata: {name: levels}
spec: {type: config, data: {LEVEL: '3'}}
---
kind: context
metadata: {name: github, default: true}
spec: {type: git, data: {url: https://github.com, password: topsecret}}
---
version: '1.0'
kind: step-type
metadata: {name: acme/hi, version: 1.0.0}
spec: {steps: {main: {image: alpine, commands: [echo hi]}}}
---
version: '1.0'
kind: step-type
metadata: {name: acme/hi, version: 1.1.0}
spec: {steps: {main: {image: alpine, commands: [echo hello]}}}
---
kind: pipeline
metadata: {name: demo/app}
spec:
  triggers: [{name: push, type: git, repo: team/app, events: [push.heads], context: github}]
  contexts: [shared, levels]
  variables:
    - {key: PASSWORD, value: topsecret, encrypted: true}
    - {key: WHO, value: world}
  steps:
    main_clone: {type: git-clone, repo: team/app, git: github}
    hi: {type: 'acme/hi:1.0.0'}
    script:
      image: alpine
      commands:
        - |
          echo "a: $WHO"
            echo 'it'
`

let sandbox: Sandbox
let account: Up
let target: Up
let tokenFile: string

beforeAll(async () => {
  sandbox = await openSandbox()
  account = await startUp(sandbox, 'account')
  target = await startUp(sandbox, 'target')
  tokenFile = await sandbox.file('account.key', `${account.adminKey}\n`)
  const file = await sandbox.file('account.yml', ACCOUNT)
  const applied = await runAt(account, ['apply', '-f', file])
  if (applied.code !== 0) throw new Error(applied.stderr)
})

afterAll(async () => {
  await target[Symbol.asyncDispose]()
  await account[Symbol.asyncDispose]()
  await sandbox[Symbol.asyncDispose]()
})

function runAt({ url, adminKey }: Pick<Up, 'url' | 'adminKey'>, words: readonly string[]): Promise<Finished> {
  return sandbox.call(words, { env: { WINDLASS_URL: url, WINDLASS_API_KEY: adminKey } })
}

/** Reads the settings and steps of the pipeline as a public client does. */
async function readSpec({ url, adminKey }: Up): Promise<unknown> {
  const answer = await fetch(`${url}/api/pipelines/demo%2Fapp`, { headers: { authorization: adminKey } })
  return z.object({ spec: z.looseObject({ steps: z.looseObject({ script: z.unknown() }) }) }).parse(await answer.json()).spec
}

const migrateAccount = (...more: readonly string[]): Promise<Finished> =>
  runAt(target, ['migrate', '--from', account.url, '--token-file', tokenFile, ...more])

const linesOf = (text: string): string[] => text.trim().split('\n')

const RESOURCES = [
  'project/demo',
  'step-type/acme/hi:1.1.0',
  'step-type/acme/hi:1.0.0',
  'context/github',
  'context/levels',
  'context/shared',
  'pipeline/demo/app',
]
const REMARKS = [
  'remark: context/github: /api/contexts: spec.data.password: The value of "password" is a secret, which is not moved. Set it again with `windlass apply`.',
  'remark: context/shared: /api/contexts: spec.data.TOKEN: The value of "TOKEN" is a secret, which is not moved. Set it again with `windlass apply`.',
  'remark: pipeline/demo/app: /api/pipelines: spec.variables.PASSWORD: The value is a secret, which is not moved. Set the value in the document with `windlass apply`.',
  'remark: pipeline/demo/app: /api/pipelines: spec.triggers: Triggers start builds when the forge calls this server (1: push). Create a webhook with `windlass create webhook NAME --forge FORGE`, and enter its address and secret at the forge.',
  '7 resources moved (3 with remarks), 0 left.',
]

test('moves an account to another server, names what to look at, and changes nothing the second time', async () => {
  const dry = await migrateAccount('--dry-run')
  expect(linesOf(dry.stdout)).toEqual(RESOURCES.map((name) => `${name} created (dry run)`))
  expect((await runAt(target, ['get', 'pipelines', '-o', 'name'])).stdout).toBe('')
  const first = await migrateAccount()
  expect(first).toMatchObject({ code: 0 })
  expect(linesOf(first.stdout)).toEqual(RESOURCES.map((name) => `${name} created`))
  expect(linesOf(first.stderr)).toEqual(REMARKS)
  const second = await migrateAccount()
  expect(second).toMatchObject({ code: 0 })
  expect(linesOf(second.stdout)).toEqual(RESOURCES.map((name) => `${name} unchanged`))
  expect(linesOf(second.stderr).at(-1)).toBe('0 resources moved, 7 unchanged (3 with remarks), 0 left.')
  const moved = await runAt(target, ['get', 'pipelines', 'demo/app', '-o', 'json'])
  const { document, variables }: { document: string; variables: unknown } = JSON.parse(moved.stdout)
  expect(document).not.toContain('*****')
  expect(variables).toEqual([
    { key: 'PASSWORD', value: '*****', encrypted: true },
    { key: 'WHO', value: 'world', encrypted: false },
  ])
  expect(await readSpec(target)).toEqual(await readSpec(account))
})

test('leaves a resource that the server has with other content, and keeps its secrets with --overwrite', async () => {
  const shared = await sandbox.file(
    'shared.yml',
    'kind: context\nmetadata: {name: shared}\nspec: {type: secret, data: {TOKEN: mine, MORE: b}}\n',
  )
  expect((await runAt(target, ['apply', '-f', shared])).code).toBe(0)
  const refused = await migrateAccount('-o', 'json')
  expect(refused.code).toBe(1)
  const { resources }: { resources: { name: string; outcome: string; done?: string; remarks: unknown[] }[] } = JSON.parse(
    refused.stdout,
  )
  expect(resources.map(({ outcome }) => outcome)).toEqual([
    'moved',
    'moved',
    'moved',
    'moved-with-remarks',
    'moved',
    'left',
    'moved-with-remarks',
  ])
  expect(resources.find(({ name }) => name === 'shared')).toMatchObject({
    remarks: [{ reason: 'The server has another context "shared".', action: 'Compare the two, or replace it with --overwrite.' }],
  })
  const replaced = await migrateAccount('--overwrite')
  expect(replaced.code).toBe(0)
  expect(linesOf(replaced.stdout).filter((line) => !line.endsWith(' unchanged'))).toEqual(['context/shared configured'])
  const check = await sandbox.file(
    'check.yml',
    `kind: pipeline\nmetadata: {name: check}\nspec:\n  contexts: [shared]\n  steps: {a: {image: '${sandbox.images['SHELL_IMAGE']}', commands: ['echo "length \${#TOKEN}"']}}\n`,
  )
  expect((await runAt(target, ['apply', '-f', check])).code).toBe(0)
  expect((await runAt(target, ['run', 'check'])).stdout).toContain('length 4')
  expect((await migrateAccount()).code).toBe(0)
})

test('writes files that apply accepts', async () => {
  const folder = join(sandbox.folder, 'moved')
  const first = await migrateAccount('--output-dir', folder)
  expect(first).toMatchObject({ code: 0 })
  expect(linesOf((await migrateAccount('--output-dir', folder)).stdout)).toEqual(RESOURCES.map((name) => `${name} unchanged`))
  const file = join(folder, 'pipelines', 'demo%2Fapp.yaml')
  expect(await readFile(file, 'utf8')).not.toContain('***')
  expect((await runAt(target, ['apply', '-f', file])).stdout).toBe('pipeline/demo/app configured\n')
})

test('moves the examples, and says where a pipeline got its name from', async () => {
  const first = await runAt(target, ['migrate', EXAMPLES])
  expect(first.code).toBe(0)
  const names = [
    'step-type/acme/greet:1.0.0',
    ...['app', 'conditions', 'hello', 'image', 'typed-steps', 'variables', 'volume', 'demo/webhook'].map(
      (name) => `pipeline/${name}`,
    ),
  ]
  expect(linesOf(first.stdout)).toEqual(names.map((name) => `${name} created`))
  expect(first.stderr).toContain('hello/codefresh.yml: The document has no name; "hello" is taken from its file.')
  const second = await runAt(target, ['migrate', EXAMPLES])
  expect(linesOf(second.stdout)).toEqual(names.map((name) => `${name} unchanged`))
})

test('documents of a folder are checked one by one, and foreign text cannot move the cursor', async () => {
  const folder = join(sandbox.folder, 'repos')
  await mkdir(folder)
  await writeFile(join(folder, 'good.yml'), "version: '1.0'\nsteps: {a: {image: alpine}}\n")
  await writeFile(join(folder, 'bad.yml'), 'kind: pipeline\nmetadata: {name: bad}\nspec: {steps: {a: {type: github-action}}}\n')
  await writeFile(join(folder, 'evil.yml'), 'kind: context\nmetadata: {name: "a\\e[2J\\u202e"}\nspec: {}\n')
  await writeFile(join(folder, 'deployment.yml'), 'kind: Deployment\n')
  const { code, stdout, stderr } = await runAt(target, ['migrate', folder])
  expect(code).toBe(1)
  expect(stdout).toBe('pipeline/good created\n')
  expect(stderr).toContain('left: pipeline/bad: ')
  expect(stderr).toContain('bad.yml:3: steps.a.type: Step type "github-action" is not supported.')
  expect(stderr).toContain('left: context/a\\u001b[2J\\u202e: ')
  expect(stderr).not.toContain('\u001b')
  expect(stderr).toContain('1 resource moved (1 with remarks), 2 left.')
})

async function serve(listener: RequestListener): Promise<{ readonly url: string; [Symbol.dispose](): void }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

test('a refused key, a failing platform and a broken answer end the command before anything is written', async () => {
  const badKey = await sandbox.file('bad.key', '6b045df61d5987a1a8c274fc.wrong\n')
  const from = (url: string, file: string): Promise<Finished> => runAt(target, ['migrate', '--from', url, '--token-file', file])
  const refused = await from(account.url, badKey)
  expect(refused).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('was answered with 401') })
  expect(refused.stderr).toContain('hint: Check the key in the file of --token-file.')
  using failing = await serve((_, response) => void response.writeHead(500).end(`{"message":"${account.adminKey} broke"}`))
  const failed = await from(failing.url, tokenFile)
  expect(failed).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining('was answered with 500: ***** broke.') })
  using half = await serve((_, response) => {
    response.writeHead(200, { 'content-length': '500' })
    response.write('{"projects":[', () => response.destroy())
  })
  const broken = await from(half.url, tokenFile)
  expect(broken).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining('GET /api/projects') })
  for (const { stdout, stderr } of [refused, failed, broken]) expect(stdout + stderr).not.toContain(account.adminKey)
})

test('refuses sources that exclude each other, and a key that is not one', async () => {
  for (const words of [
    [],
    [EXAMPLES, '--from', account.url, '--token-file', tokenFile],
    ['--from', account.url],
    ['--from', 'ftp://x', '--token-file', tokenFile],
  ])
    expect((await runAt(target, ['migrate', ...words])).code, words.join(' ')).toBe(2)
  const empty = await sandbox.file('empty.key', '\n')
  expect((await runAt(target, ['migrate', '--from', account.url, '--token-file', empty])).code).toBe(2)
  expect((await runAt(target, ['migrate', '--from', account.url, '--token-file', `${empty}-none`])).code).toBe(3)
  expect((await runAt(target, ['migrate', join(sandbox.folder, 'none')])).code).toBe(3)
})
