/** The Runner commands against a real server. Tests that need a cluster are in `e2e/runner/cli`. */
import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openClient } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { openSandbox, startUp, type Sandbox, type Finished, type Up } from '../support.ts'

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

async function succeed(...words: string[]): Promise<Finished> {
  const finished = await sandbox.call(words)
  expect(finished.code, finished.stdout + finished.stderr).toBe(0)
  return finished
}

test('creates a context from a key and makes it the current one (R006, C1)', async () => {
  const { stdout } = await succeed('auth', 'create-context', 'mine', '--api-key', up.adminKey, '--url', up.url)
  expect(stdout).toBe('Context "mine" was created and is the current one.\n')
  expect((await succeed('auth', 'current-context')).stdout).toMatch(/^Context: +mine\n/)
  expect((await succeed('auth', 'get-contexts')).stdout).toMatch(/\* +mine /)
  const wrong = await sandbox.call(['auth', 'create-context', 'other', '--api-key', 'nonsense', '--url', up.url])
  expect(wrong.code).toBe(4)
})

test('uses the server of the environment without a context (R009)', async () => {
  const env = { WINDLASS_CONFIG: join(sandbox.folder, 'none.yaml'), CF_URL: up.url, CF_API_KEY: up.adminKey }
  const { code, stdout } = await sandbox.call(['get', 'agents'], { env })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^NAME +RUNTIMES +STATUS +REPORTED\nlocal +local +healthy/)
})

test('creates, shows, renames, attaches and deletes an agent (R138, R145, C17)', async () => {
  const made = await succeed('create', 'agent', 'prod')
  expect(made.stderr).toContain('Agent: "prod" created')
  expect(made.stdout).toMatch(/^[0-9a-f]{24}\.\S+\n$/)
  await succeed('patch', 'agent', 'prod', '--newName', 'cluster-1', '--re', 'local')
  expect((await succeed('get', 'agents', '--name', 'cluster-1', '--no-headers')).stdout).toMatch(/^cluster-1 +local +N\/A$/m)
  expect((await succeed('get', 'agents', '-o', 'id')).stdout).toMatch(/^([0-9a-f]{24}\n){2}$/)
  await succeed('delete', 'agent', 'cluster-1')
  expect((await sandbox.call(['get', 'agents', 'cluster-1'])).code).toBe(3)
})

test('tables have selectable columns; an unknown column is rejected (R010)', async () => {
  expect((await succeed('get', 'agents', '--select-columns', 'status,name')).stdout).toMatch(/^STATUS +NAME\nhealthy +local\n$/)
  const wrong = await sandbox.call(['get', 'agents', '--select-columns', 'age,nothing'])
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain('The column "nothing" does not exist.')
  expect((await succeed('get', 'clusters')).stderr).toBe('no available resources\n')
})

test('prints, patches and compares a runtime environment, and makes it the default (C8, C9)', async () => {
  const file = await sandbox.file(
    're.yml',
    JSON.stringify({ kind: 'runtime', metadata: { name: 'ctx/team' }, spec: { type: 'kubernetes' } }),
  )
  await succeed('apply', '-f', file)
  const shown = parse((await succeed('get', 're', '--limit=100', 'ctx/team', '-o', 'yaml')).stdout)
  expect(shown).toMatchObject({ version: 1, metadata: { name: 'ctx/team', agent: true } })
  await writeFile(file, JSON.stringify({ ...shown, dockerDaemonScheduler: { defaultDindResources: { requests: { cpu: '1' } } } }))
  expect((await succeed('patch', 're', '-f', file)).stdout).toBe('Runtime environment: "ctx/team" patched\n')
  const diff = await sandbox.call(['diff', 're', '--first-name', 'ctx/team', '--first-version', '1'])
  expect(diff.code).toBe(1)
  expect(diff.stdout).toContain('+ dockerDaemonScheduler.defaultDindResources.requests.cpu: "1"')
  await succeed('patch', 'runtime-environment', 'ctx/team', '--default')
  expect((await succeed('get', 'runtime-environments', '-o', 'wide')).stdout).toMatch(/ctx\/team +kubernetes +yes /)
  expect(JSON.parse((await succeed('get', 're', 'ctx/team', '--history')).stdout)).toHaveLength(2)
  expect((await succeed('get', 're-base-images', 'ctx/team', '--no-headers')).stdout).toMatch(/^engine +\S+\ndind +\S+\n$/)
  await succeed('patch', 're', 'local', '--default')
  await succeed('delete', 're', 'ctx/team')
})

test('describes a runtime environment in one view, to a key that may only read runtimes', async () => {
  const { stdout } = await succeed('describe', 're', 'local')
  expect(stdout).toMatch(
    /^Runtime: +local\nType: +docker\nDefault: +yes\nHealth: +0 builds run, none wait\.\nAgent: +local \(online, seen \S+ ago/,
  )
  expect(stdout).toMatch(/^Builds: +0 running, 0 waiting$/m)
  const parsed = JSON.parse((await succeed('describe', 'runtime', 'local', '-o', 'json')).stdout)
  expect(parsed).toMatchObject({ runtime: { name: 'local', agent: 'local', agentState: { exists: true } } })
  expect((await sandbox.call(['describe', 're', 'missing'])).code).toBe(3)
  const { keys } = openClient({ url: up.url, token: up.adminKey, transport: nodeTransport() })
  const { token } = await keys.create({ name: 'reader', role: 'admin', scopes: ['runtime:read'] })
  const reader = await sandbox.call(['describe', 're', 'local'], { env: { WINDLASS_URL: up.url, WINDLASS_API_KEY: token } })
  expect(reader.stdout).toMatch(/^Agent: +local \(online, seen \S+ ago/m)
})

test('shows, replaces and removes base layers of runtime environments', async () => {
  expect((await succeed('get', 'sys-re', '--no-headers')).stdout).toMatch(/^system\/default\/hybrid\/k8s +built in$/m)
  const shown = parse((await succeed('get', 'sys-re', 'system/default/hybrid/k8s', '-o', 'yaml')).stdout)
  expect(shown).toMatchObject({ version: 0, metadata: { name: 'system/default/hybrid/k8s', agent: false } })
  const daemon = { ...shown.dockerDaemonScheduler, cluster: { nodeSelector: { pool: 'builds' } } }
  const changed = { ...shown, dockerDaemonScheduler: daemon }
  const file = await sandbox.file('base.yaml', JSON.stringify(changed))
  expect((await succeed('patch', 'sys-re', '-f', file)).stdout).toBe('Base layer: "system/default/hybrid/k8s" patched\n')
  const runtime = await sandbox.file(
    'on-base.yml',
    JSON.stringify({ kind: 'runtime', metadata: { name: 'ctx/on-base' }, spec: {} }),
  )
  await succeed('apply', '-f', runtime)
  const merged = async (): Promise<string> => (await succeed('get', 're', 'ctx/on-base', '--extend', '-o', 'json')).stdout
  expect(await merged()).toContain('"pool": "builds"')
  const wrong = await sandbox.file('wrong.yaml', JSON.stringify({ ...changed, metadata: { name: 'team/base' } }))
  expect((await sandbox.call(['patch', 'sys-re', '-f', wrong])).stderr).toContain('must begin with "system/"')
  expect((await succeed('delete', 'sys-re', 'system/default/hybrid/k8s')).stdout).toBe(
    'system-runtime/system/default/hybrid/k8s deleted\n',
  )
  expect(await merged()).not.toContain('builds"')
  const again = await sandbox.call(['delete', 'sys-re', 'system/default/hybrid/k8s'])
  expect(again.code).toBe(3)
  expect(again.stderr).toContain('No base layer "system/default/hybrid/k8s" is stored, so there is nothing to delete.')
  expect((await sandbox.call(['get', 'sys-re', 'system/none'])).stderr).toContain('Base layer "system/none" does not exist.')
  await succeed('delete', 're', 'ctx/on-base')
})

test('creates a secret store of the cluster from flags (R205)', async () => {
  const words = ['create', 'context', 'secret-store', 'kubernetes-runtime']
  const given = ['--runtime', 'local', '--resource-type', 'configmap', '--resource-name', 'team-settings']
  expect((await succeed(...words, 'team', ...given)).stdout).toBe('context/team created\n')
  await succeed(...words, 'plain')
  const read = async (name: string): Promise<unknown> => JSON.parse((await succeed('get', 'contexts', name, '-o', 'json')).stdout)
  expect(await read('team')).toMatchObject({
    type: 'secret-store',
    data: { runtime: 'local', resourceType: 'configmap', resourceName: 'team-settings' },
  })
  expect(await read('plain')).toMatchObject({ data: { runtime: '*', resourceType: 'secret', resourceName: 'plain' } })
  const wrong = await sandbox.call([...words, 'other', '--resource-name', 'Not/Valid'])
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringContaining('resourceName must be the name of a Secret or ConfigMap.'),
  ])
})

test('rejects invalid files and incomplete command lines with a hint', async () => {
  const cases: readonly (readonly [readonly string[], number, string])[] = [
    [['patch', 're'], 2, 'No runtime environment was given.'],
    [['patch', 're', 'local'], 2, 'No change was given.'],
    [['patch', 're', '-f', await sandbox.file('re.txt', '{}')], 2, 'is not a JSON or YAML file'],
    [['patch', 're', '-f', await sandbox.file('none.json', '{}')], 1, 'does not name a runtime environment'],
    [['get', 're', '--history'], 2, 'need the name'],
    [['create', 're'], 1, 'windlass runner init'],
    [['runner', 'init'], 2, 'Cannot prompt without a terminal.'],
    [['runner', 'init', '--yes', '--app-proxy'], 2, 'The app-proxy has no host.'],
    [['uninstall', 'app-proxy'], 2, 'Cannot ask for confirmation without a terminal.'],
    [['runner', 'init', '--yes', '--set-value', 'insecure=true'], 2, 'Certificate verification cannot be turned off.'],
    [['runner', 'init', '--yes', '--set-value', 'Storage.Backand=ebs'], 1, 'did you mean "Backend"?'],
    [['runner', 'init', '--yes', '--set-value', 'global.image.tag=1.2.3'], 1, 'did you mean "image"?'],
    [['uninstall', 'agent'], 2, 'No agent was given.'],
    [['attach', 'runtime', '--runtime-name', 'local'], 2, 'The namespace of its builds was not given.'],
  ]
  for (const [words, code, text] of cases) {
    const finished = await sandbox.call(words)
    expect(finished.code, words.join(' ')).toBe(code)
    expect(finished.stdout + finished.stderr).toContain(text)
  }
})

test('an installation without Helm fails before any change, with a hint', async () => {
  const kubeconfig = await sandbox.file(
    'kubeconfig',
    JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
      users: [{ name: 'u', user: { token: 't' } }],
    }),
  )
  const env = { KUBECONFIG: kubeconfig, WINDLASS_HELM: '/nowhere/helm' }
  const { code, stderr } = await sandbox.call(['runner', 'init', '--dry-run', '--kube-namespace', 'n'], { env })
  expect(code).toBe(3)
  expect(stderr).toContain('/nowhere/helm is not an executable file.')
})

test('names the scopes that a key lacks (R007)', async () => {
  const file = await sandbox.file('key', '')
  const { keys } = openClient({ url: up.url, token: up.adminKey, transport: nodeTransport() })
  const key = await keys.create({ name: 'small', role: 'admin', scopes: ['agent:write', 'runtime:write'] })
  await writeFile(file, key.token)
  const env = { WINDLASS_CONFIG: join(sandbox.folder, 'small.yaml') }
  const { code, stderr } = await sandbox.call(['runner', 'init', '--yes', '--token-file', file, '--url', up.url], { env })
  expect(code).toBe(4)
  expect(stderr).toContain('lacks the scopes certificate:write, installation:write, cluster:write')
})

test('runner info shows the agents, and --help lists every option (R016, R017)', async () => {
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

test('runs the commands of the old installer when called `venona` (R212, R213, C24)', async () => {
  const link = join(sandbox.folder, 'venona')
  await symlink(join(import.meta.dirname, '../../../../windlass'), link)
  const child = spawn(link, ['status', '--verbose'], {
    env: { ...process.env, WINDLASS_CONFIG: sandbox.configFile, NO_COLOR: '1' },
  })
  let stdout = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  await once(child, 'close')
  expect(stdout).toMatch(/^RUNTIME NAME +LAST MESSAGE +REPORTED\nlocal +\S.* ago\n$/)
})
