/**
 * The shared configuration repository on a real Argo CD: what each folder reaches, Git sources, a managed cluster, configuration runtimes, the chart of a runtime. The
 * managed cluster is a second API server with an etcd of its own. Argo CD looks at Git only when it is asked to, so what arrives without `refresh` was asked for by the app-proxy.
 */
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { argoServerIn, checkArgoCd, fromPod, throughCluster } from '../../../packages/cli/src/gitops/argo-cd.ts'
import { checkHosted } from '../../../packages/cli/src/gitops/hosted.ts'
import { openTokenStore } from '../../../packages/cli/src/gitops/token-secret.ts'
import { compiledArgoCd } from '../../support/argocd.ts'
import { openHelm } from '../../support/helm.ts'
import { ensureImages } from '../../support/images.ts'
import { startRegistry } from '../../support/registry.ts'
import { isSynced, type Live } from './argocd-runtime.ts'
import { limitArgoCd, openNeighbour, setFence, type Fence } from './hosted-scene.ts'
import { openRepositoryScene, type RepositoryScene } from './repository-scene.ts'
import { TOKEN_SECRET } from './runtime-process.ts'

const CHART = 'windlass-gitops-runtime'
const root = join(import.meta.dirname, '../../..')

let at: RepositoryScene
beforeAll(async () => {
  at = await openRepositoryScene()
})
afterAll(() => at?.[Symbol.asyncDispose]())

const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  from: git\n`
const patience = { timeout: 120_000, interval: 200 }

/** The ConfigMaps of these names in both namespaces of the test cluster and in the second cluster. */
const arrived = async (...names: string[]): Promise<Record<'prod' | 'staging' | 'eu', string[]>> => ({
  prod: await at.configMaps(at.cluster.kube, at.namespaces.prod, ...names),
  staging: await at.configMaps(at.cluster.kube, at.namespaces.staging, ...names),
  eu: await at.configMaps(at.second.kube, at.namespaces.prod, ...names),
})
/** The definition of rollouts in the second cluster, as kubectl names it. */
const rolloutsDefinition = (): Promise<string> => {
  const second = ['--kubeconfig', at.kubeconfig, '--context', 'Staging/EU']
  return at.cluster.kubectl(...second, 'get', 'customresourcedefinition', 'rollouts.argoproj.io', '--output', 'name')
}
/**
 * Lets Argo CD take charts of a registry without TLS. For the chart of an application it looks for a `repository` with this URL: it finds no `repo-creds` for an address with a port.
 */
const registryLogin = (name: string, domain: string, type: 'repository' | 'repo-creds'): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: at.namespaces.prod, labels: { 'argocd.argoproj.io/secret-type': type } },
  stringData: { type: 'helm', url: `${domain}/charts`, enableOCI: 'true', insecureOCIForceHttp: 'true' },
})
const applications = (): Promise<string[]> => at.cluster.names({ kind: 'Application', namespace: at.namespaces.prod })

test('a runtime applies the repository: the application of its folder and that of its cluster are synced (O031)', async () => {
  const set = await at.windlass(`gitops config set prod --shared-config-repo ${at.forge.url}/mira/gitops.git`)
  expect(set).toBe('gitops-runtime/prod set up\n')
  await at.applyRepository('prod')
  await at.until('prod', 'prod-isc', isSynced)
  await at.until('prod', 'in-cluster', isSynced)
  expect(await applications()).toEqual(['in-cluster', 'prod-isc'])
  expect(await at.windlass('gitops app list prod')).toMatch(
    /^in-cluster +default +healthy +synced .*\nprod-isc +default +healthy +synced /m,
  )
})

test('the version of Argo CD is found at its Service below its root path, from a pod and through the API server, and a wrong place is said (O075)', async () => {
  const { kube } = at.cluster
  const { prod: namespace, staging } = at.namespaces
  const check = (values: object, ask = throughCluster(kube), place = namespace): ReturnType<typeof checkArgoCd> =>
    checkArgoCd(kube, { namespace: place, server: argoServerIn({ ...values }), ask })
  const server = (given: object): object => ({ global: { integrations: { 'argo-cd': { server: given } } } })
  const passed = { status: 'pass', message: expect.stringMatching(/^Argo CD v3\.\d+\.\d+\S* at argocd-server:80\/argo-cd$/) }
  for (const ask of [fromPod(), throughCluster(kube)])
    for (const values of [{}, server({ svc: 'argocd-server', rootpath: 'argo-cd/' })])
      expect(await check(values, ask)).toMatchObject([passed])
  for (const ask of [fromPod(), throughCluster(kube)])
    expect(await check(server({ svc: 'argocd-server', rootpath: '/argo' }), ask)).toMatchObject([
      {
        status: 'fail',
        message: expect.stringContaining('at argocd-server:80/argo is not known'),
        hint: expect.stringContaining('rootpath'),
      },
    ])
  // The second runtime has none in its namespace, and may name that of another one.
  expect(await check({}, throughCluster(kube), staging)).toMatchObject([
    {
      status: 'warn',
      message: `The namespace ${staging} has no server of Argo CD.`,
      hint: expect.stringContaining('3.0 or later'),
    },
  ])
  const other = server({ svc: `argocd-server.${namespace}`, rootpath: '/argo-cd' })
  expect(await check(other, throughCluster(kube), staging)).toMatchObject([passed])
})

test('a managed cluster is taken by Argo CD: its application is synced with the credentials of the Secret (O054)', async () => {
  const line = `gitops cluster add prod --context Staging/EU --kubeconfig ${at.kubeconfig} --labels team=shop`
  expect(await at.windlass(line)).toBe('cluster/staging-eu added\n')
  await at.until('prod', 'staging-eu', isSynced)
  // As Argo CD has reached it, with the version that the API server says.
  const row = new RegExp(
    `^${at.second.access.server} +staging-eu +v?1\\.\\d+\\S* +successful +yes +runtimes/prod/staging-eu.yaml`,
    'm',
  )
  await expect.poll(() => at.windlass('gitops cluster list prod'), patience).toMatch(row)
  expect((await at.admin.gitopsStatus.clusters({ query: { runtime: 'prod' } })).items[0]).toMatchObject({ name: 'in-cluster' })
})

test('each folder reaches its runtimes and clusters, and no others (O032, O033, O034)', async () => {
  await at.windlass('gitops config set staging')
  await at.applyRepository('staging')
  const names = ['everywhere', 'for-control-planes', 'only-prod', 'only-staging']
  await at.write('gitops', 'resources/all-runtimes-all-clusters/a.yaml', configMap('everywhere'))
  await at.write('gitops', 'resources/control-planes/deep/b.yaml', configMap('for-control-planes'))
  await at.write('gitops', 'resources/runtimes/prod/c.yaml', configMap('only-prod'))
  await at.write('gitops', 'resources/runtimes/staging/d.yaml', configMap('only-staging'))
  await at.until('staging', 'in-cluster', isSynced)
  await at.windlass('gitops app refresh staging in-cluster')
  for (const application of ['in-cluster', 'staging-eu']) await at.windlass(`gitops app refresh prod ${application}`)
  await expect
    .poll(() => arrived(...names), patience)
    .toEqual({
      prod: ['everywhere', 'for-control-planes', 'only-prod'],
      staging: ['everywhere', 'for-control-planes', 'only-staging'],
      eu: ['everywhere'],
    })
  for (const application of ['in-cluster', 'staging-eu']) await at.until('prod', application, isSynced)
  await at.until('staging', 'in-cluster', isSynced)
  // A file that is gone is removed everywhere, although nothing is left in one folder.
  await at.write('gitops', 'resources/control-planes/deep/b.yaml', undefined)
  await at.windlass('gitops app refresh prod in-cluster')
  await expect.poll(() => arrived('for-control-planes'), patience).toMatchObject({ prod: [], staging: ['for-control-planes'] })
})

test('a Git source is applied, edited, and deleted without its objects (O035)', async () => {
  await at.write('apps', 'prod/settings.yaml', configMap('settings'))
  await at.write('apps', 'prod/extra.yaml', configMap('extra'))
  const found = (): Promise<string[]> => at.configMaps(at.cluster.kube, at.namespaces.prod, 'settings', 'extra')
  await at.windlass(`gitops git-source create prod apps --git-src-repo ${at.forge.url}/mira/apps.git/prod?ref=main`)
  await at.until('prod', 'apps', isSynced)
  await expect.poll(found, patience).toEqual(['extra', 'settings'])
  await at.windlass('gitops git-source edit prod apps --exclude extra.yaml')
  await expect.poll(found, patience).toEqual(['settings'])
  await at.until('prod', 'apps', isSynced)
  await at.windlass('gitops git-source delete prod apps')
  await expect.poll(applications, patience).toEqual(['in-cluster', 'prod-isc', 'staging-eu'])
  expect(await found()).toEqual(['settings'])
})

test('only configuration runtimes apply products and promotions, also after a change of which they are (O072)', async () => {
  await at.write('gitops', 'resources/configurations/products/p.yaml', configMap('product'))
  await at.windlass('gitops app refresh prod in-cluster')
  await at.windlass('gitops app refresh staging in-cluster')
  await expect.poll(() => arrived('product'), patience).toEqual({ prod: ['product'], staging: [], eu: [] })
  await at.windlass('gitops config set staging --configuration-runtime=true')
  await at.windlass('gitops config set prod --configuration-runtime=false')
  await expect.poll(() => arrived('product'), patience).toEqual({ prod: [], staging: ['product'], eu: [] })
  await at.windlass('gitops config set prod --configuration-runtime=true')
  await expect.poll(() => arrived('product'), patience).toEqual({ prod: ['product'], staging: ['product'], eu: [] })
})

test('Argo Rollouts is installed in a managed cluster by a commit, and its definition is there (O049)', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-rollouts-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await using registry = await startRegistry({ host: at.cluster.host })
  const helm = await openHelm()
  onTestFinished(() => helm.close())
  const [chart, version] = [join(folder, 'argo-rollouts'), '2.41.1']
  await mkdir(join(chart, 'crds'), { recursive: true })
  await writeFile(join(chart, 'Chart.yaml'), `apiVersion: v2\nname: argo-rollouts\nversion: ${version}\n`)
  await copyFile(join(await compiledArgoCd(), 'crds/rollout-crd.yaml'), join(chart, 'crds/rollout.yaml'))
  await helm.run('package', chart, '--destination', folder)
  await helm.run('push', join(folder, `argo-rollouts-${version}.tgz`), `oci://${registry.domain}/charts`, '--plain-http')
  await at.cluster.apply(registryLogin('rollouts-registry', registry.domain, 'repository'))
  const line = `gitops cluster create-argo-rollouts prod --server-url ${at.second.access.server}`
  const done = await at.windlass(`${line} --chart oci://${registry.domain}/charts/argo-rollouts --version ${version}`)
  expect(done).toBe(`application/argo-rollouts-staging-eu set to ${version}\n`)
  // Argo CD ignores changes of the status of a definition, so its health is that of the moment of the comparison.
  await at.until('prod', 'argo-rollouts-staging-eu', ({ status }) => status?.sync?.status === 'Synced')
  expect(await rolloutsDefinition()).toBe('customresourcedefinition.apiextensions.k8s.io/rollouts.argoproj.io')
  expect(await at.windlass(line)).toBe('application/argo-rollouts-staging-eu unchanged\n')
})

test('a managed cluster that is removed keeps what runs there (O056)', async () => {
  expect(await at.windlass('gitops cluster remove prod staging-eu')).toBe('cluster/staging-eu removed\n')
  await expect.poll(applications, patience).toEqual(['in-cluster', 'prod-isc'])
  expect((await arrived('everywhere')).eu).toEqual(['everywhere'])
  expect(await rolloutsDefinition()).toContain('rollouts.argoproj.io')
  expect(
    await at.cluster.names({ kind: 'Secret', namespace: at.namespaces.prod, labels: 'windlass.io/managed-cluster' }),
  ).toEqual([])
})

test('Argo CD installs the chart of the runtime, and another version of it is a commit (O073)', async () => {
  const { WINDLASS_IMAGE = '' } = await ensureImages('windlass')
  await at.cluster.load(WINDLASS_IMAGE)
  const { cluster, namespaces } = at
  const namespace = namespaces.prod
  const folder = await mkdtemp(join(tmpdir(), 'windlass-chart-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await using registry = await startRegistry({ host: cluster.host })
  const helm = await openHelm()
  onTestFinished(() => helm.close())
  for (const version of ['1.2.3', '1.3.0']) {
    await helm.run('package', join(root, 'charts', CHART), '--version', version, '--destination', folder)
    await helm.run('push', join(folder, `${CHART}-${version}.tgz`), `oci://${registry.domain}/charts`, '--plain-http')
  }
  await cluster.apply(registryLogin('registry', registry.domain, 'repo-creds'))
  const colon = WINDLASS_IMAGE.lastIndexOf(':')
  const values = await helm.values({
    global: {
      codefresh: { url: 'https://ci.example.com', accountId: '65f0c1d2a3b4c5d6e7f80912' },
      runtime: { name: 'prod', tokenSecret: TOKEN_SECRET, ingressUrl: 'https://gitops.example.com' },
    },
    'tunnel-client': { enabled: false },
    // Its pod is ready while its server answers.
    'event-reporters': { 'runtime-event-reporter': { enabled: false } },
    image: { repository: WINDLASS_IMAGE.slice(0, colon), tag: WINDLASS_IMAGE.slice(colon + 1) },
  })
  const chartOf = async (): Promise<string | undefined> => {
    const found = await cluster.kube.find({ kind: 'Deployment', namespace, name: 'cap-app-proxy' })
    return found?.metadata.labels?.['helm.sh/chart']
  }
  const synced = async (version: string): Promise<Live> => {
    await expect.poll(chartOf, patience).toBe(`${CHART}-${version}`)
    return at.until('prod', 'prod', isSynced)
  }
  const chart = `oci://${registry.domain}/charts/${CHART}`
  await at.windlass(`gitops chart set prod --chart ${chart} --version 1.2.3 --values ${values}`)
  await synced('1.2.3')
  await at.windlass('gitops chart set prod --version 1.3.0')
  await synced('1.3.0')
  // A rollback is the earlier version.
  await at.windlass('gitops chart set prod --version 1.2.3')
  await synced('1.2.3')
})

test('the status of a runtime names the part that is broken, and no other (O062, O088)', async () => {
  const { cluster, admin, mira, forge } = at
  const runtime = at.runtimes.prod
  const namespace = at.namespaces.prod
  const folder = await mkdtemp(join(tmpdir(), 'windlass-status-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  /** What is not as it should be, and what Argo CD answers. */
  const broken = async (): Promise<readonly string[]> => {
    const { checks, argoCd, syncMode } = await admin.gitopsStatus.get('prod')
    const names = checks.filter(({ status }) => status !== 'successful').map(({ name, status }) => `${name} ${status}`)
    return [...names, argoCd.state, syncMode]
  }
  const untilBroken = (...names: string[]): Promise<void> => expect.poll(broken, patience).toEqual(names)
  const WELL = ['connected', 'gitops'] as const

  // A runtime from whose set-up two steps are missing.
  await untilBroken('runtimeGitToken failed', 'gitSourceConfigured failed', ...WELL)
  const basic = `Basic ${Buffer.from(`${mira.name}:${mira.password}`).toString('base64')}`
  const tokens = `${forge.url}/api/v1/users/${mira.name}/tokens`
  const headers = { authorization: basic, 'content-type': 'application/json' }
  const made = await fetch(tokens, { method: 'POST', headers, body: JSON.stringify({ name: 'runtime', scopes: ['all'] }) })
  const { sha1 } = (await made.json()) as { sha1: string }
  await writeFile(join(folder, 'git-token'), sha1)
  await at.windlass(`gitops integration register prod --token-file ${join(folder, 'git-token')} --runtime-token`)
  await at.windlass(`gitops git-source create prod apps --git-src-repo ${forge.url}/mira/apps.git/prod?ref=main`)
  await untilBroken(...WELL)
  expect((await admin.gitopsStatus.get('prod')).problems).toEqual([])

  // The Secret of the runtime, key by key, and whole.
  const secret = { kind: 'Secret', namespace, name: TOKEN_SECRET } as const
  // This run has made it.
  const data = (await cluster.kube.find(secret))?.['data'] as { token: string; encryptionIV: string }
  await cluster.kube.patch(secret, { data: { encryptionIV: null } })
  await untilBroken('encryptionIv failed', ...WELL)
  await cluster.kube.patch(secret, { data: { ...data, token: null } })
  await untilBroken('encryptionKey failed', ...WELL)
  await cluster.kube.delete(secret)
  await untilBroken('encryptionKey failed', 'encryptionIv failed', ...WELL)
  await cluster.kube.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: TOKEN_SECRET, namespace }, data })
  await untilBroken(...WELL)

  const integration = { kind: 'ConfigMap', namespace, name: 'git-integration-default' } as const
  const before = await cluster.kube.find(integration)
  await cluster.kube.delete(integration)
  await untilBroken('defaultGitIntegration failed', 'runtimeGitToken unknown', ...WELL)
  const labels = before?.metadata.labels ?? {}
  await cluster.kube.create({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: integration.name, namespace, labels },
    data: before?.['data'],
  })
  await untilBroken(...WELL)

  const revoked = await fetch(`${tokens}/runtime`, { method: 'DELETE', headers })
  expect(revoked.status).toBe(204)
  await untilBroken('runtimeGitToken failed', ...WELL)
  expect((await admin.gitopsStatus.get('prod')).problems).toEqual([
    expect.stringMatching(
      /does not accept the Git token of the runtime\. Register another one: `windlass gitops integration register prod default /,
    ),
  ])
  await writeFile(join(folder, 'git-token'), mira.token)
  await at.windlass(`gitops integration register prod --token-file ${join(folder, 'git-token')} --runtime-token`)
  await untilBroken(...WELL)

  // Without Argo CD its token is not the problem; with a wrong token Argo CD is not.
  await runtime.argo.close()
  await untilBroken('eventReporterArgoCDToken unknown', 'not-found', 'gitops')
  await runtime.argo.open()
  await runtime.writeArgoToken('wrong')
  await untilBroken('eventReporterArgoCDToken failed', 'not-authorized', 'gitops')
  await runtime.writeArgoToken(at.argo.token)
  await untilBroken(...WELL)

  await at.windlass('gitops git-source delete prod apps')
  await untilBroken('gitSourceConfigured failed', ...WELL)
  // What the application has applied stays.
  await cluster.kube.delete({ kind: 'Application', namespace, name: 'prod-isc' })
  await untilBroken('isc failed', 'gitSourceConfigured failed', ...WELL)
  await at.applyRepository('prod')
})

/** What users have: an application, and what a Git source has applied. */
const SHOP = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: shop
spec:
  project: default
  source: { repoURL: 'https://git.example.com/acme/shop.git', path: ., targetRevision: main }
  destination: { server: 'https://kubernetes.default.svc', namespace: shop }
`
const shownState = async (): Promise<string[]> => [
  await at.windlass('gitops git-source list prod'),
  await at.windlass('gitops cluster list prod'),
  await at.windlass('gitops chart get prod'),
]

test('a runtime that is removed by accident comes back from the repository with the same Git sources, clusters and settings (O085)', async () => {
  const { cluster, namespaces, kubeconfig } = at
  const namespace = namespaces.prod
  const addCluster = `gitops cluster add prod --context Staging/EU --kubeconfig ${kubeconfig}`
  await at.write('apps', 'prod/shop.yaml', SHOP)
  await at.windlass(
    `gitops git-source create prod apps --git-src-repo ${at.forge.url}/mira/apps.git/prod?ref=main --exclude extra.yaml`,
  )
  await at.windlass(addCluster)
  await expect.poll(applications, patience).toEqual(['apps', 'in-cluster', 'prod', 'prod-isc', 'shop', 'staging-eu'])
  await at.until('prod', 'in-cluster', isSynced)
  const before = await shownState()
  const removed = await at.notes(`gitops uninstall prod --yes --kube-namespace ${namespace}`)
  expect(removed).toContain('application/prod-isc deleted; its objects stay\napplication/in-cluster deleted; its objects stay\n')
  expect(removed).toContain('Kept: the Secrets with credentials of managed clusters, which Argo CD uses: cluster-staging-eu.')
  // What the Git source has applied is that of users.
  expect(await applications()).toEqual(['shop'])
  expect((await arrived('settings')).prod).toEqual(['settings'])
  const chart = ['--selector', `app.kubernetes.io/part-of=${CHART}`, '--output', 'name']
  const kinds = 'deployments,statefulsets,services,serviceaccounts,roles,rolebindings,networkpolicies,configmaps'
  expect(await cluster.kubectl('--namespace', namespace, 'get', kinds, ...chart)).toBe('')
  await cluster.kubectl('--namespace', namespace, 'delete', 'secrets', '--selector', 'windlass.io/managed-cluster')
  await at.reinstall('prod')
  const set = await at.notes('gitops config set prod')
  expect(set).toContain(', with products and promotions\n')
  expect(set).toContain(
    'Add the credentials of staging-eu again: windlass gitops cluster add prod --name staging-eu --context CONTEXT',
  )
  await at.applyRepository('prod')
  expect(await at.windlass(addCluster)).toBe('cluster/staging-eu unchanged\n')
  await expect.poll(applications, patience).toEqual(['apps', 'in-cluster', 'prod', 'prod-isc', 'shop', 'staging-eu'])
  for (const name of ['in-cluster', 'apps', 'staging-eu']) await at.until('prod', name, isSynced)
  // What Argo CD says of the clusters is reported each second.
  await expect.poll(shownState, patience).toEqual(before)
})

test('an uninstall that cleans the repository leaves the applications of users and the other runtime, and can be repeated (O076, O078)', async () => {
  const { cluster, namespaces } = at
  const namespace = namespaces.prod
  const ofStaging = (): Promise<string[]> => cluster.names({ kind: 'Application', namespace: namespaces.staging })
  const others = await ofStaging()
  expect(others).toEqual(['in-cluster', 'staging-isc'])
  // Two runtimes do not see each other, and the account of one may not read the namespace of the other.
  expect(await at.windlass('gitops app list staging')).not.toMatch(/^(?:prod-isc|shop|apps) /m)
  // The Argo CD that both use may name its clusters to both. Credentials and file are those of one runtime.
  expect(await at.windlass('gitops cluster list prod')).toMatch(/ staging-eu .* yes +runtimes\/prod\/staging-eu\.yaml/)
  expect(await at.windlass('gitops cluster list staging')).not.toMatch(/ staging-eu .*(?:yes|missing|\.yaml)/)
  await expect(at.accounts.staging.list({ kind: 'Secret', namespace })).rejects.toMatchObject({ code: 'cluster-refused' })
  const owner = { runtime: 'prod', server: at.serverUrl }
  const tokens = openTokenStore(cluster.kube, namespace)
  const isWritten = await tokens.write({ token: 'token', iv: 'the random text of this test', owner }, await tokens.read())
  expect(isWritten).toBe(true)
  const line = `gitops uninstall prod --yes --clean-repository --kube-namespace ${namespace}`
  expect(await at.windlass(line)).toMatch(
    /^gitops-runtime\/prod removed from the repository\ngitops-runtime\/prod deleted\n(?:release\/windlass-gitops-runtime was already|chart\/windlass-gitops-runtime) deleted\n/,
  )
  expect(await applications()).toEqual(['shop'])
  expect((await arrived('settings')).prod).toEqual(['settings'])
  const left = await cluster.names({ kind: 'Secret', namespace, labels: 'io.codefresh.integration-type' })
  expect([left, await cluster.kube.find({ kind: 'Secret', namespace, name: 'codefresh-token' })]).toEqual([[], undefined])
  const files = await at.files('gitops')
  expect(files.filter((path) => /(?:^|\/)prod\//.test(path))).toEqual([])
  expect(files).toEqual(expect.arrayContaining(['runtimes/staging/in-cluster.yaml', 'resources/runtimes/staging/d.yaml']))
  expect(await ofStaging()).toEqual(others)
  expect(await at.notes(line)).toContain('The server does not know the runtime any more.')
  expect(await applications()).toEqual(['shop'])
})

/** An application of a Git source. */
const application = (name: string, { project, path, destination }: Record<'project' | 'path' | 'destination', string>): string =>
  `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: { name: ${name} }
spec:
  project: ${project}
  source: { repoURL: '${at.forge.url}/mira/apps.git', path: ${path}, targetRevision: main }
  destination: ${destination}
  syncPolicy: { automated: {} }
`
const OWN_CLUSTER = 'https://kubernetes.default.svc'

test('a hosted runtime deploys to the cluster of its account only, and another account beside it is out of its reach (O079)', async () => {
  const { cluster, namespaces, second } = at
  const { kube } = cluster
  const namespace = namespaces.prod
  const neighbour = await openNeighbour(at)
  onTestFinished(() => neighbour[Symbol.asyncDispose]())
  const fence: Fence = await setFence(cluster, namespace)
  onTestFinished(() => fence[Symbol.asyncDispose]())
  const limited = await limitArgoCd(cluster, at.argo)
  onTestFinished(() => limited[Symbol.asyncDispose]())
  const runtimeToken = await at.reinstall('prod', { isHosted: true })

  // The account uses it: a cluster of its own, a Git source, an application.
  await at.write('gitops', 'resources/all-runtimes-all-clusters/hosted.yaml', configMap('to-clusters'))
  const set = await at.notes(`gitops config set prod --shared-config-repo ${at.forge.url}/mira/gitops.git`)
  expect(set).not.toContain('with products and promotions')
  await at.applyRepository('prod')
  await at.windlass(`gitops cluster add prod --context Staging/EU --kubeconfig ${at.kubeconfig}`)
  await at.until('prod', 'staging-eu', isSynced)
  await at.write(
    'apps',
    'hosted/shop.yaml',
    application('shop-eu', {
      project: 'default',
      path: 'objects',
      destination: `{ server: '${second.access.server}', namespace: ${namespace} }`,
    }),
  )
  await at.write('apps', 'objects/a.yaml', configMap('from-hosted'))
  await at.windlass(`gitops git-source create prod apps --git-src-repo ${at.forge.url}/mira/apps.git/hosted?ref=main`)
  await at.until('prod', 'apps', isSynced)
  await at.until('prod', 'shop-eu', isSynced)
  expect(await arrived('from-hosted', 'to-clusters')).toMatchObject({ prod: [], eu: ['from-hosted', 'to-clusters'] })

  // The runtime refuses what cannot be.
  const create = `gitops app create prod own --repo ${at.forge.url}/mira/apps.git --path objects`
  await expect(at.windlass(`${create} --dest-namespace ${namespace}`)).rejects.toThrow('deploys nothing to its own cluster')
  await expect(at.windlass('gitops config set prod --configuration-runtime=true')).rejects.toThrow('is hosted')
  await expect(at.windlass('gitops chart set prod --chart oci://r.example.com/x --version 1.0.0')).rejects.toThrow('is hosted')

  // Who writes to Git without the runtime meets the projects of Argo CD.
  const message =
    (text: string) =>
    (app: Live): boolean =>
      JSON.stringify(app.status ?? {}).includes(text)
  const other = `{ server: '${OWN_CLUSTER}', namespace: ${neighbour.namespace} }`
  const own = `{ server: '${OWN_CLUSTER}', namespace: ${namespace} }`
  const refused = [
    application('to-other', { project: 'default', path: 'objects', destination: other }),
    application('by-name', { project: 'default', path: 'objects', destination: `{ name: in-cluster, namespace: ${namespace} }` }),
    // Its user syncs it, so that Argo CD does not repeat what failed.
    application('to-own', { project: 'windlass-runtime', path: 'objects', destination: own }).replace('{ automated: {} }', '{}'),
  ]
  await at.write('apps', 'hosted/refused.yaml', refused.join('---\n'))
  await at.windlass('gitops app refresh prod apps')
  for (const name of ['to-other', 'by-name'])
    await at.until('prod', name, message("do not match any of the allowed destinations in project 'default'"))
  await at.windlass('gitops app sync prod to-own')
  await at.until('prod', 'to-own', message('is not permitted in project windlass-runtime'))
  await at.write(
    'apps',
    'hosted/open.yaml',
    'apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: { name: open }\nspec: {}\n',
  )
  await at.windlass('gitops app refresh prod apps')
  await at.until('prod', 'apps', message('AppProject is not permitted in project windlass-runtime'))

  // Without the projects, Argo CD and then its rights in the cluster are in the way.
  await fence.open()
  await at.windlass('gitops app refresh prod to-other')
  await at.until('prod', 'to-other', message('is not managed'))
  await at.windlass('gitops app sync prod to-own')
  await at.until('prod', 'to-own', message('is forbidden'))
  const mayArgo = (verb: string, resource: string, place: string): Promise<string> =>
    cluster.kubectl('auth', 'can-i', verb, resource, '--namespace', place, '--as', `system:serviceaccount:${namespace}:argocd`)
  expect(await mayArgo('create', 'applications.argoproj.io', namespace)).toContain('yes')
  for (const resource of ['configmaps', 'secrets', 'applications.argoproj.io'])
    await expect(mayArgo('create', resource, neighbour.namespace), resource).rejects.toThrow()
  await expect(mayArgo('get', 'secrets', neighbour.namespace)).rejects.toThrow()
  expect(await at.configMaps(kube, neighbour.namespace, 'from-hosted')).toEqual([])
  expect((await arrived('from-hosted')).prod).toEqual([])

  // The two accounts have a runtime of the same name, and neither key, nor token, nor account of the cluster opens the other one.
  expect(await neighbour.windlass('gitops app list prod')).toMatchObject({
    code: 0,
    text: expect.not.stringContaining('shop-eu'),
  })
  expect(await neighbour.windlass(`gitops app list prod --runtime-url ${at.urlOf('prod')}`)).toMatchObject({ code: 4 })
  expect(await neighbour.windlass('gitops app list prod', at.adminToken)).toMatchObject({ code: 4 })
  await expect(neighbour.http.nobody.withToken(runtimeToken).server.whoami()).rejects.toMatchObject({ code: 'unauthenticated' })
  for (const kind of ['Secret', 'ConfigMap', 'Application'] as const) {
    await expect(at.accounts.prod.list({ kind, namespace: neighbour.namespace })).rejects.toMatchObject({
      code: 'cluster-refused',
    })
    await expect(neighbour.kube.list({ kind, namespace })).rejects.toMatchObject({ code: 'cluster-refused' })
  }

  // An account cannot take what the nodes have.
  await neighbour.limit()
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: neighbour.namespace },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }
  await expect(cluster.apply(claim)).rejects.toThrow(/quota: hosted-runtime/)

  // Before an installation the rights of the accounts of a namespace are looked at.
  expect(await checkHosted(kube, namespace)).toMatchObject([
    { status: 'fail', message: expect.stringContaining(`ClusterRoleBinding/argocd-${namespace}`) },
  ])
  expect(await checkHosted(kube, neighbour.namespace)).toMatchObject([
    { status: 'fail', hint: expect.stringContaining('resource.respectRBAC') },
  ])
  await neighbour.respectRights()
  expect(await checkHosted(kube, neighbour.namespace)).toMatchObject([{ status: 'pass' }])
  const rbac = 'rbac.authorization.k8s.io'
  const binding = { kind: 'ClusterRoleBinding', name: `by-name-${neighbour.namespace}` } as const
  onTestFinished(async () => void (await kube.delete(binding)))
  await cluster.apply({
    apiVersion: `${rbac}/v1`,
    kind: binding.kind,
    metadata: { name: binding.name },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: rbac, kind: 'User', name: `system:serviceaccount:${neighbour.namespace}:argocd` }],
  })
  expect(await checkHosted(kube, neighbour.namespace)).toMatchObject([
    { status: 'fail', message: expect.stringContaining(`ClusterRoleBinding/${binding.name}`) },
  ])
})
