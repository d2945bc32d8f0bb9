/** The shared configuration repository: how it is chosen, the files of runtimes, their charts and their managed clusters. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { openScene, type Answer } from '../../../packages/app-proxy/test/support/scene.ts'
import { openGitopsScene, type GitopsScene } from './gitops-scene.ts'

let at: GitopsScene

beforeAll(async () => {
  at = await openGitopsScene()
})
beforeEach(() => {
  at.beforePush = async () => undefined
})
afterAll(() => at[Symbol.asyncDispose]())

const LAYOUT = [
  'resources/all-runtimes-all-clusters/promotion-workflows/.gitkeep',
  'resources/app-projects/.gitkeep',
  'resources/configurations/products/.gitkeep',
  'resources/configurations/promotion-flows/.gitkeep',
  'resources/configurations/promotion-policies/.gitkeep',
  'resources/configurations/promotion-templates/.gitkeep',
  'resources/control-planes/promotion-workflows/.gitkeep',
  'resources/runtimes/prod/.gitkeep',
  'runtimes/prod/in-cluster.yaml',
]

test('without a shared repository calls say who chooses one', async () => {
  for (const path of ['/shared-configuration', '/git-sources', '/clusters'])
    expect(await at.call('GET', path)).toMatchObject({
      status: 404,
      body: { code: 'not-found', hint: expect.stringContaining('windlass gitops config set') },
    })
})

test('a repository that cannot be used is not chosen: absent, empty, of another host, or without the right to push (O030)', async () => {
  await at.ann.api('POST', '/user/repos', { name: 'empty', private: true })
  const set = (repository: string, by = at.keys.ada): Promise<Answer> =>
    at.call('PUT', '/shared-configuration', { by, body: { repository } })
  expect(await set(`${at.url}/ann/absent.git`)).toMatchObject({ status: 404 })
  const empty = await set(`${at.url}/ann/empty.git`)
  expect(empty.status).toBeGreaterThanOrEqual(400)
  expect(empty.body).toMatchObject({ hint: expect.stringContaining('README') })
  expect(await set(`${at.url}/ann/gitops.git?ref=absent`)).toMatchObject({ status: 404 })
  expect(await set('https://other.example.com/ann/gitops.git')).toMatchObject({
    status: 404,
    body: { detail: expect.stringContaining('no Git integration') },
  })
  expect(await set('git@github.com:ann/gitops.git')).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('Invalid URL') },
  })
  expect(await set(`${at.url}/ann/gitops.git`, at.keys.ben)).toMatchObject({ status: 403, body: { right: 'manage-gitops' } })
  await at.server.admin.users.change('rea', { role: 'admin' })
  const right = async (): Promise<unknown> => (await set(`${at.url}/ann/gitops.git`, at.keys.rea)).body
  await expect.poll(right).toMatchObject({ code: 'forbidden', right: 'git-push' })
  await at.server.admin.users.change('rea', { role: 'developer' })
  expect(await at.server.admin.gitopsSettings.get()).toEqual({})
  expect(await at.inClone('gitops', 'rev-list', '--count', 'HEAD')).toBe('1\n')
})

test('the first runtime chooses the repository, and one commit of the user adds the layout and keeps other files (O030)', async () => {
  const repository = `${at.url}/ann/gitops.git`
  const set = await at.windlass(`gitops config set prod --shared-config-repo ${repository}`)
  const revision = (await at.inClone('gitops', 'rev-parse', 'HEAD')).trim()
  expect(set).toEqual({
    code: 0,
    stdout: 'gitops-runtime/prod set up\n',
    stderr: `Commit on main: ${at.url}/ann/gitops/commit/${revision}
Repository: ${repository}, with products and promotions
Create its application once: windlass gitops config application prod | kubectl apply -f -
`,
  })
  expect(await at.filesOf('gitops')).toEqual(['README.md', ...LAYOUT])
  expect(await at.inClone('gitops', 'log', '--format=%an: %s', '-1')).toBe('ann: Set up the GitOps runtime prod\n')
  const text = await at.read('runtimes/prod/in-cluster.yaml')
  expect(text).toContain(`repoURL: ${repository}\n    path: resources\n    targetRevision: main\n`)
  expect(text).toContain('namespace: prod-runtime')
  // Again: the same state, and no commit.
  expect((await at.windlass('gitops config set prod')).stdout).toBe('gitops-runtime/prod unchanged\n')
  expect((await at.inClone('gitops', 'rev-parse', 'HEAD')).trim()).toBe(revision)
  expect(await at.call('GET', '/shared-configuration', { by: at.keys.vic })).toMatchObject({
    status: 200,
    body: { repository, branch: 'main', revision, hasRuntime: true, isConfigurationRuntime: true },
  })
  expect((await at.windlass('gitops config application prod')).stdout).toContain('  name: prod-isc\n')
  const other = await at.call('PUT', '/shared-configuration', { body: { repository: `${at.url}/ann/apps.git` } })
  expect(other).toMatchObject({ status: 409, body: { code: 'conflict', detail: expect.stringContaining(repository) } })
  expect(await at.filesOf('apps')).toEqual(['README.md', 'prod/app.yaml'])
  expect(at.scene.leftovers()).toEqual([])
})

test('a second runtime gets its own folders, and is not a configuration runtime until it is set (O072)', async () => {
  const { token: runtimeToken } = await at.server.admin.gitopsRuntimes.createToken('staging')
  const control = { url: at.server.server.url, accountId: at.server.server.app.accountId, runtimeToken }
  await using second = await openScene(control, { runtime: 'staging' })
  const send = (path: string, body: object): Promise<Answer> => second.call('PUT', path, { token: at.keys.ada, body })
  expect((await send('/git-integrations/forge', { provider: 'gitea', url: at.url })).status).toBe(200)
  expect((await send('/git-integrations/forge/token', { token: at.ann.token })).status).toBe(200)
  const body = { name: 'apps', type: 'standard', repository: `${at.url}/ann/apps.git` }
  expect(await second.call('POST', '/git-sources', { token: at.keys.ada, body })).toMatchObject({
    status: 404,
    body: { hint: expect.stringContaining('windlass gitops config set staging') },
  })
  const put = (change: object): Promise<Answer> => send('/shared-configuration', change)
  expect(await put({})).toMatchObject({ status: 200, body: { configuration: { isConfigurationRuntime: false } } })
  expect(await at.filesOf('gitops')).toEqual(
    ['README.md', ...LAYOUT, 'resources/runtimes/staging/.gitkeep', 'runtimes/staging/in-cluster.yaml'].toSorted(),
  )
  expect(await put({ isConfigurationRuntime: true })).toMatchObject({ body: { configuration: { isConfigurationRuntime: true } } })
  expect(await at.read('runtimes/staging/in-cluster.yaml')).toContain('configurations/')
  expect(await put({ isConfigurationRuntime: false, message: 'Only prod' })).toMatchObject({ status: 200 })
  expect(await at.read('runtimes/staging/in-cluster.yaml')).not.toContain('configurations/')
  expect(await at.inClone('gitops', 'log', '--format=%s', '-1')).toBe('Only prod\n')
})

test('the chart of a runtime is written with its application, and an upgrade changes its version only (O073)', async () => {
  expect(await at.windlass('gitops chart get prod')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('gitops chart set prod'),
  })
  expect(await at.windlass('gitops chart set prod --version 1.2.3')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('oci://'),
  })
  const folder = mkdtempSync(join(tmpdir(), 'windlass-values-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'values.yaml'), 'global:\n  runtime:\n    name: prod\n')
  const chart = 'oci://registry.example.com/charts/gitops-runtime'
  const set = await at.windlass(`gitops chart set prod --chart ${chart} --version 1.2.3 --values ${join(folder, 'values.yaml')}`)
  expect(set).toMatchObject({ code: 0, stdout: 'gitops-runtime/prod set to 1.2.3\n' })
  expect(await at.inClone('gitops', 'show', '--format=%s', '--name-status', 'HEAD'))
    .toBe(`Set the chart of the GitOps runtime prod to 1.2.3

A\tresources/prod/chart/Chart.yaml
A\tresources/prod/chart/values.yaml
A\tresources/runtimes/prod/prod.yaml
`)
  expect(await at.read('resources/prod/chart/values.yaml')).toBe('gitops-runtime:\n  global:\n    runtime:\n      name: prod\n')
  expect((await at.windlass('gitops chart set prod --version 1.3.0')).stdout).toBe('gitops-runtime/prod set to 1.3.0\n')
  expect(await at.inClone('gitops', 'show', '--format=', '--name-status', 'HEAD')).toBe('M\tresources/prod/chart/Chart.yaml\n')
  expect((await at.windlass('gitops chart set prod --version 1.3.0')).stdout).toBe('gitops-runtime/prod unchanged\n')
  expect((await at.windlass('gitops chart get prod', at.keys.vic)).stdout).toBe(`Chart:    ${chart}\nVersion:  1.3.0\n`)
  expect(await at.call('PUT', '/runtime-chart', { by: at.keys.ben, body: { version: '9.9.9' } })).toMatchObject({ status: 403 })
})

/** Writes a kubeconfig with the context `Staging/EU`. Returns its path. */
function kubeconfig(address: string, user: object = { token: 'token-of-the-cluster' }): string {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-kubeconfig-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'config')
  const config = {
    contexts: [{ name: 'Staging/EU', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: address, 'certificate-authority-data': Buffer.from('CA').toString('base64') } }],
    users: [{ name: 'u', user }],
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

const ROLLOUTS = 'resources/runtimes/prod/argo-rollouts-staging-eu.yaml'

/** Installs Argo Rollouts in the managed cluster, then another version. */
async function installRollouts(): Promise<void> {
  const line = 'gitops cluster create-argo-rollouts prod'
  const nowhere = await at.windlass(`${line} nowhere`)
  expect(nowhere).toMatchObject({ code: 3, stderr: expect.stringContaining('does not manage a cluster "nowhere"') })
  const name = 'application/argo-rollouts-staging-eu'
  expect((await at.windlass(`${line} staging-eu`)).stdout).toBe(`${name} set to 2.41.1\n`)
  const again = await at.windlass(`${line} --server-url https://10.1.2.3:6443 --version 2.42.0 --namespace rollouts`)
  expect(again.stdout).toBe(`${name} set to 2.42.0\n`)
  expect((await at.windlass(`${line} staging-eu`)).stdout).toBe(`${name} unchanged\n`)
  const text = await at.read(ROLLOUTS)
  for (const fact of ['targetRevision: 2.42.0', 'namespace: rollouts', 'server: https://10.1.2.3:6443'])
    expect(text).toContain(fact)
  const refused = await at.call('POST', '/clusters/staging-eu/argo-rollouts', { by: at.keys.ben, body: {} })
  expect(refused).toMatchObject({ status: 403, body: { right: 'manage-gitops' } })
}

test('a managed cluster is a file without credentials and a Secret with them, and both are removed (O054, O055)', async () => {
  const line = `gitops cluster add prod --context Staging/EU --kubeconfig ${kubeconfig('https://10.1.2.3:6443')} --labels team=shop`
  const dry = await at.windlass(`${line} --dry-run`)
  expect(dry).toEqual({
    code: 0,
    stdout: 'name: staging-eu\nserver: https://10.1.2.3:6443\nlabels:\n  team: shop\n',
    stderr: '',
  })
  expect(at.scene.kube.objects.has('secrets/cluster-staging-eu')).toBe(false)
  const added = await at.windlass(line)
  expect(added).toMatchObject({ code: 0, stdout: 'cluster/staging-eu added\n' })
  const text = await at.read('runtimes/prod/staging-eu.yaml')
  expect(text).toContain('    server: https://10.1.2.3:6443\n')
  const log = await at.inClone('gitops', 'log', '-p', '--all')
  for (const secret of ['token-of-the-cluster', Buffer.from('token-of-the-cluster').toString('base64'), 'bearerToken', 'caData'])
    expect(log).not.toContain(secret)
  expect(at.scene.lines.join('\n')).not.toContain('token-of-the-cluster')
  const secret = at.scene.kube.objects.get('secrets/cluster-staging-eu')
  expect(secret?.metadata.labels).toEqual({
    team: 'shop',
    'argocd.argoproj.io/secret-type': 'cluster',
    'windlass.io/managed-cluster': 'staging-eu',
  })
  const source = { name: 'staging-eu', type: 'standard', repository: `${at.url}/ann/apps.git` }
  expect(await at.call('POST', '/git-sources', { body: source })).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining('managed cluster') },
  })
  // The same cluster again has the same name, and no commit.
  expect((await at.windlass(line)).stdout).toBe('cluster/staging-eu unchanged\n')
  expect((await at.windlass('gitops cluster list prod')).stdout).toMatch(
    /^SERVER +NAME +VERSION +STATUS +CREDENTIALS +FILE +MESSAGE\n(?:https:\/\/kubernetes\.default\.svc .*\n)?https:\/\/10\.1\.2\.3:6443 +staging-eu +(?:unknown +)?yes +runtimes\/prod\/staging-eu\.yaml\n$/,
  )
  const other = `gitops cluster add prod --name other --context Staging/EU --kubeconfig ${kubeconfig('https://10.1.2.3:6443')}`
  expect(await at.windlass(other)).toMatchObject({ code: 1, stderr: expect.stringContaining('managed already') })
  await installRollouts()
  expect(await at.windlass('gitops cluster remove prod --server-url https://10.1.2.3:6443')).toMatchObject({
    code: 0,
    stdout: 'cluster/staging-eu removed\n',
  })
  expect(at.scene.kube.objects.has('secrets/cluster-staging-eu')).toBe(false)
  const left = await at.filesOf('gitops')
  for (const file of ['runtimes/prod/staging-eu.yaml', ROLLOUTS]) expect(left).not.toContain(file)
  expect((await at.windlass('gitops cluster remove prod staging-eu')).code).toBe(3)
})

/** Makes the forge refuse pushes to the shared repository. Returns what ends that. */
async function protect(): Promise<() => Promise<void>> {
  const rules = '/repos/ann/gitops/branch_protections'
  await at.ann.api('POST', rules, { rule_name: 'main', enable_push: false })
  return async () => void (await at.ann.api('DELETE', `${rules}/main`))
}

/** The newest record of a route of the app-proxy in the audit log of the server. */
const record = async (route: string): Promise<unknown> =>
  (await at.server.admin.audit.list({ query: { order: 'newest', limit: 1, q: `/app-proxy/api${route}` } })).items[0]

test('a cluster is refused with its reason, and its credentials do not stay if its commit is refused, which the audit log has (O054)', async () => {
  const add = (name: string, address: string, by = at.keys.ada): Promise<Answer> => {
    const config = {
      clusters: [{ name: 'c', cluster: { server: address } }],
      users: [{ name: 'u', user: { token: 'token-of-the-cluster' } }],
    }
    const kubeConfig = Buffer.from(JSON.stringify(config)).toString('base64')
    return at.call('POST', '/clusters', { by, body: { name, kubeConfig } })
  }
  const secrets = (): string[] => [...at.scene.kube.objects.keys()].filter((key) => key.startsWith('secrets/cluster-'))
  for (const address of ['https://kubernetes.default.svc', 'https://169.254.169.254', 'http://10.1.2.3'])
    expect(await add('bad', address)).toMatchObject({ status: 400, body: { code: 'request-invalid' } })
  const source = { name: 'shop', type: 'standard', repository: `${at.url}/ann/apps.git` }
  expect((await at.call('POST', '/git-sources', { body: source })).status).toBe(200)
  expect(await add('in-cluster', 'https://10.1.2.4')).toMatchObject({ status: 409 })
  expect(await add('shop', 'https://10.1.2.4')).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining('Git source') },
  })
  expect(await add('good', 'https://10.1.2.4', at.keys.ben)).toMatchObject({ status: 403, body: { right: 'manage-gitops' } })
  expect(secrets()).toEqual([])
  at.beforePush = async () => at.write('gitops', 'runtimes/prod/good.yaml', 'a: 1\n')
  expect(await add('good', 'https://10.1.2.4')).toMatchObject({ status: 409, body: { code: 'conflict' } })
  expect(secrets()).toEqual([])
  at.beforePush = async () => {
    expect(secrets()).toHaveLength(1)
  }
  const open = await protect()
  expect(await add('late', 'https://10.1.2.5')).toMatchObject({ status: 422, body: { code: 'git-refused' } })
  await open()
  expect(secrets()).toEqual([])
  await expect
    .poll(() => record('/clusters'))
    .toMatchObject({ actor: 'ada-key', result: 'failed', code: 'git-refused', detail: 'cluster late' })
  const certificates = kubeconfig('https://10.1.2.3:6443', { 'client-certificate-data': 'eA==', 'client-key-data': 'eA==' })
  const refused = await at.windlass(`gitops cluster add prod --context Staging/EU --kubeconfig ${certificates}`)
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('no token') })
})

test('a runtime leaves the repository: its own applications go first, its files in one commit, and all else stays (O078)', async () => {
  const { objects } = at.scene.kube
  // Without the commit the applications are gone, so the audit log has the call.
  const open = await protect()
  expect(await at.call('DELETE', '/shared-configuration')).toMatchObject({ status: 422, body: { code: 'git-refused' } })
  await open()
  await expect
    .poll(() => record('/shared-configuration'))
    .toMatchObject({ actor: 'ada-key', action: expect.stringMatching(/^DELETE /), result: 'failed', code: 'git-refused' })
  const application = (name: string, labels: Record<string, string>, finalizers: string[] = []): void => {
    const metadata = { name, namespace: 'prod-runtime', labels, finalizers }
    objects.set(`applications/${name}`, { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', metadata, spec: {} })
  }
  const config = { 'codefresh.io/entity': 'internal-config' }
  for (const name of ['staging-eu', 'in-cluster', 'prod-isc']) application(name, config)
  application('apps', { 'codefresh.io/entity': 'git-source' }, ['resources-finalizer.argocd.argoproj.io'])
  application('shop', { team: 'shop' }, ['resources-finalizer.argocd.argoproj.io'])
  const applications = (): string[] => [...objects.keys()].filter((key) => key.startsWith('applications/'))
  const isOwn = (path: string): boolean => /^(?:runtimes|resources\/runtimes|resources)\/prod\//.test(path)
  const before = await at.filesOf('gitops')
  const remove = 'gitops config remove prod'
  expect(await at.windlass(remove)).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes') })
  expect(await at.windlass(`${remove} --yes`, at.keys.ben)).toMatchObject({ code: 4 })
  await at.server.admin.users.change('rea', { role: 'admin' })
  await expect.poll(async () => (await at.windlass(`${remove} --yes`, at.keys.rea)).stderr).toContain('may not push')
  await at.server.admin.users.change('rea', { role: 'developer' })
  expect(applications()).toHaveLength(5)
  // In the order in which none creates another one again.
  const gone: string[] = []
  at.scene.kube.beforePatch = (name) => void gone.push(name)
  at.beforePush = async () => {
    expect(applications()).toEqual(['applications/shop'])
  }
  const removed = await at.windlass(`${remove} --yes`)
  expect(removed).toMatchObject({ code: 0, stdout: 'gitops-runtime/prod removed from the repository\n' })
  const counted = before.filter((path) => isOwn(path) && !/\/chart\/|\.gitkeep$/.test(path)).length
  expect(removed.stderr).toContain(`Files of applications that were removed: ${counted}\n`)
  expect([gone.slice(0, 2), gone.length]).toEqual([['prod-isc', 'in-cluster'], 4])
  expect(await at.filesOf('gitops')).toEqual(before.filter((path) => !isOwn(path)))
  expect(before.filter((path) => path.includes('/staging/')).length).toBeGreaterThan(0)
  expect(await at.inClone('gitops', 'log', '-1', '--format=%an: %s')).toBe('ann: Remove the GitOps runtime prod\n')
  expect((await at.windlass(`${remove} --yes`)).stdout).toBe('gitops-runtime/prod unchanged\n')
  at.scene.kube.beforePatch = () => undefined
})

test('a runtime in another namespace does not take the files of one with its name, and a namespaced one has no restricted Git sources (O076)', async () => {
  expect((await at.windlass('gitops config set prod')).code).toBe(0)
  const text = await at.read('runtimes/prod/in-cluster.yaml')
  await at.write('gitops', 'runtimes/prod/in-cluster.yaml', text.replaceAll('prod-runtime', 'elsewhere'))
  expect(await at.windlass('gitops config set prod')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/in the namespace "elsewhere", and this one is in "prod-runtime".*gitops config remove prod/s),
  })
  await at.write('gitops', 'runtimes/prod/in-cluster.yaml', text)
  await at.scene.restart({ isNamespaced: true })
  const restricted = '--restricted --source-namespace cf-shop --destination in-cluster/shop'
  const repository = `--git-src-repo ${at.url}/ann/apps.git`
  expect(await at.windlass(`gitops git-source create prod shop ${restricted} ${repository}`)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('limited to its namespace'),
  })
  expect(await at.windlass(`gitops git-source create prod shop ${repository}`)).toMatchObject({ code: 0 })
  await at.scene.restart()
})

test('the settings are shown and forgotten, and the files stay', async () => {
  expect((await at.windlass('gitops config get')).stdout).toMatch(
    new RegExp(`^Repository:  ${at.url}/ann/gitops.git\nChosen by:   ada\nChosen at:   `),
  )
  const before = await at.filesOf('gitops')
  expect(await at.windlass('gitops config reset')).toMatchObject({ code: 0, stdout: 'gitops-settings reset\n' })
  expect((await at.windlass('gitops config get')).stderr).toBe('The account has no shared configuration repository.\n')
  expect(await at.filesOf('gitops')).toEqual(before)
})

test('integrations are added, listed and removed by command, and Git tokens are registered from files (O027, O080)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-git-token-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'token')
  writeFileSync(file, `${at.ann.token}\n`)
  const add = `gitops integration add prod second --provider gitea --url ${at.url}`
  expect(await at.windlass(add, at.keys.ben)).toMatchObject({ code: 4, stderr: expect.stringContaining('manage-gitops') })
  expect(await at.windlass(add)).toMatchObject({ code: 0, stdout: 'git-integration/second added\n' })
  expect(await at.windlass('gitops integration add prod third --url https://git.test')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('The provider of the integration is missing.'),
  })
  const register = `gitops integration register prod second --token-file ${file}`
  expect(await at.windlass(register, at.keys.ben)).toMatchObject({ stdout: 'git-integration/second registered: ann\n' })
  expect(await at.windlass(`${register} --runtime-token`, at.keys.ben)).toMatchObject({ code: 4 })
  expect(await at.windlass(`${register} --runtime-token`)).toMatchObject({
    stdout: 'git-integration/second has the token of the runtime: ann\n',
  })
  const listed = await at.windlass('gitops integration list prod', at.keys.ben)
  expect(listed.stdout).toMatch(new RegExp(`second +gitea +${at.url} +all users +\\d +yes +ann\n`))
  writeFileSync(file, 'two words\n')
  expect(await at.windlass(register)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('does not contain a key or token'),
  })
  expect(await at.windlass('gitops integration deregister prod second', at.keys.ben)).toMatchObject({ code: 0 })
  expect(await at.windlass('gitops integration deregister prod second', at.keys.ben)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('You have not registered a Git token for this integration.'),
  })
  expect(await at.windlass('gitops integration remove prod second')).toMatchObject({ stdout: 'git-integration/second removed\n' })
  expect((await at.windlass('gitops integration list prod')).stdout).not.toContain('second')
})
