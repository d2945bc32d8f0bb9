/** The platform side of the Runner's commands, against a real server; what needs a cluster is in `e2e/runner/cli`. */
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { openDesk, startUp, type Desk, type Finished, type Up } from './support.ts'

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

async function succeed(...words: string[]): Promise<Finished> {
  const finished = await desk.run(words)
  expect(finished.code, finished.stdout + finished.stderr).toBe(0)
  return finished
}

test('R006 C1: a context is made by its key, and is the current one', async () => {
  const { stdout } = await succeed('auth', 'create-context', 'mine', '--api-key', up.adminKey, '--url', up.url)
  expect(stdout).toBe("Context 'mine' was created and is in use.\n")
  expect((await succeed('auth', 'current-context')).stdout).toMatch(/^Context: +mine\n/)
  expect((await succeed('auth', 'get-contexts')).stdout).toMatch(/\* +mine /)
  const wrong = await desk.run(['auth', 'create-context', 'other', '--api-key', 'nonsense', '--url', up.url])
  expect(wrong.code).toBe(4)
})

test('R009: the environment alone is enough to talk to a server', async () => {
  const env = { WINDLASS_CONFIG: join(desk.folder, 'none.yaml'), CF_URL: up.url, CF_API_KEY: up.adminKey }
  const { code, stdout } = await desk.run(['get', 'agents'], { env })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^NAME +RUNTIMES +STATUS +REPORTED\nlocal +local +healthy/)
})

test('R138 R145 C17: an agent is made, shown, renamed, given runtimes and deleted', async () => {
  const made = await succeed('create', 'agent', 'prod')
  expect(made.stderr).toContain('Agent: "prod" created')
  expect(made.stdout).toMatch(/^[0-9a-f]{24}\.\S+\n$/)
  await succeed('patch', 'agent', 'prod', '--newName', 'cluster-1', '--re', 'local')
  expect((await succeed('get', 'agents', '--name', 'cluster-1', '--no-headers')).stdout).toMatch(/^cluster-1 +local +N\/A$/m)
  expect((await succeed('get', 'agents', '-o', 'id')).stdout).toMatch(/^([0-9a-f]{24}\n){2}$/)
  await succeed('delete', 'agent', 'cluster-1')
  expect((await desk.run(['get', 'agents', 'cluster-1'])).code).toBe(3)
})

test('R010: tables have columns to choose, and a column that does not exist is told', async () => {
  expect((await succeed('get', 'agents', '--select-columns', 'status,name')).stdout).toMatch(/^STATUS +NAME\nhealthy +local\n$/)
  const wrong = await desk.run(['get', 'agents', '--select-columns', 'age,nothing'])
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain('There is no column nothing.')
  expect((await succeed('get', 'clusters')).stderr).toBe('no available resources\n')
})

test('C8 C9: a runtime environment is shown as a file, changed, compared and made the default', async () => {
  const file = await desk.file(
    're.yml',
    JSON.stringify({ kind: 'runtime', metadata: { name: 'ctx/team' }, spec: { type: 'kubernetes' } }),
  )
  await succeed('apply', '-f', file)
  const shown = parse((await succeed('get', 're', '--limit=100', 'ctx/team', '-o', 'yaml')).stdout)
  expect(shown).toMatchObject({ version: 1, metadata: { name: 'ctx/team', agent: true } })
  await writeFile(file, JSON.stringify({ ...shown, dockerDaemonScheduler: { defaultDindResources: { requests: { cpu: '1' } } } }))
  expect((await succeed('patch', 're', '-f', file)).stdout).toBe('Runtime environment: "ctx/team" patched\n')
  const diff = await desk.run(['diff', 're', '--first-name', 'ctx/team', '--first-version', '1'])
  expect(diff.code).toBe(1)
  expect(diff.stdout).toContain('+ dockerDaemonScheduler.defaultDindResources.requests.cpu: "1"')
  await succeed('patch', 'runtime-environment', 'ctx/team', '--default')
  expect((await succeed('get', 'runtime-environments', '-o', 'wide')).stdout).toMatch(/ctx\/team +kubernetes +yes /)
  expect(JSON.parse((await succeed('get', 're', 'ctx/team', '--history')).stdout)).toHaveLength(2)
  expect((await succeed('get', 're-base-images', 'ctx/team', '--no-headers')).stdout).toMatch(/^engine +\S+\ndind +\S+\n$/)
  await succeed('patch', 're', 'local', '--default')
  await succeed('delete', 're', 'ctx/team')
})

test('a file that is no runtime environment, and a command without one, are refused with what to do', async () => {
  const cases: readonly (readonly [readonly string[], number, string])[] = [
    [['patch', 're'], 2, 'Which runtime environment?'],
    [['patch', 're', 'local'], 2, 'Nothing is to change.'],
    [['patch', 're', '-f', await desk.file('re.txt', '{}')], 2, 'neither JSON nor YAML'],
    [['patch', 're', '-f', await desk.file('none.json', '{}')], 1, 'does not say which runtime environment'],
    [['get', 're', '--history'], 2, 'need the name'],
    [['create', 're'], 1, 'windlass runner init'],
    [['runner', 'init'], 2, 'There is no terminal to ask on.'],
    [['runner', 'init', '--yes', '--app-proxy'], 2, 'no App-Proxy'],
    [['runner', 'init', '--yes', '--set-value', 'insecure=true'], 2, 'Certificates are always checked.'],
    [['runner', 'init', '--yes', '--set-value', 'Storage.Backand=ebs'], 1, 'Did you mean Backend?'],
    [['uninstall', 'agent'], 2, 'Which agent?'],
    [['attach', 'runtime', '--runtime-name', 'local'], 2, 'In which namespace'],
  ]
  for (const [words, code, text] of cases) {
    const finished = await desk.run(words)
    expect(finished.code, words.join(' ')).toBe(code)
    expect(finished.stdout + finished.stderr).toContain(text)
  }
})

test('an installation without Helm says where to get it, before anything is changed', async () => {
  const kubeconfig = await desk.file(
    'kubeconfig',
    JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
      users: [{ name: 'u', user: { token: 't' } }],
    }),
  )
  const env = { KUBECONFIG: kubeconfig, WINDLASS_HELM: '/nowhere/helm' }
  const { code, stderr } = await desk.run(['runner', 'init', '--dry-run', '--kube-namespace', 'n'], { env })
  expect(code).toBe(3)
  expect(stderr).toContain('/nowhere/helm is not a program.')
})

test('R007: a key that lacks a scope is told which', async () => {
  const file = await desk.file('key', '')
  const answer = await fetch(`${up.url}/v1/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${up.adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'small', role: 'admin', scopes: ['agent:write', 'runtime:write'] }),
  })
  const key: { token: string } = JSON.parse(await answer.text())
  await writeFile(file, key.token)
  const env = { WINDLASS_CONFIG: join(desk.folder, 'small.yaml') }
  const { code, stderr } = await desk.run(['runner', 'init', '--yes', '--token-file', file, '--url', up.url], { env })
  expect(code).toBe(4)
  expect(stderr).toContain('lacks the scopes certificate:write, installation:write, cluster:write')
})

test('R016, R017: runner info shows the agents, and help lists every option', async () => {
  expect((await succeed('runner', 'info')).stdout).toMatch(/^NAME +RUNTIMES +STATUS +REPORTED\nlocal +local +healthy /)
  const { stdout } = await succeed('runner', 'init', '--help')
  for (const flag of [
    '--token',
    '--kube-namespace',
    '--set-value',
    '--dry-run',
    '--skip-cluster-test',
    '--generate-helm-values-file',
    '--env-vars',
  ])
    expect(stdout).toContain(flag)
})

test('R212 R213 C24: called by the name of the old installer, the command is the old installer', async () => {
  const link = join(desk.folder, 'venona')
  await symlink(join(import.meta.dirname, '../../../windlass'), link)
  const child = spawn(link, ['status', '--verbose'], { env: { ...process.env, WINDLASS_CONFIG: desk.configFile, NO_COLOR: '1' } })
  let stdout = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  await once(child, 'close')
  expect(stdout).toMatch(/^RUNTIME NAME +LAST MESSAGE +REPORTED\nlocal +\S.* ago\n$/)
})
