/**
 * The shared configuration repository on a real Argo CD: what each folder reaches, Git sources, a managed cluster, configuration runtimes, the chart of a runtime. The
 * managed cluster is a second API server with an etcd of its own. Argo CD looks at Git only when it is asked to, so what arrives without `refresh` was asked for by the app-proxy.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { argoServerIn, checkArgoCd, fromPod, throughCluster } from '../../../packages/cli/src/gitops/argo-cd.ts'
import { openTokenStore } from '../../../packages/cli/src/gitops/token-secret.ts'
import { compiledArgoCd } from '../../support/argocd.ts'
import { ensureImages } from '../../support/images.ts'
import { isSynced, type Live } from './argocd-runtime.ts'
import { openChartRegistry } from './chart-registry.ts'
import { checkNamespaces, keepApart, meetProjects, meetQuota, meetRights, useHosted } from './hosted-limits.ts'
import { limitArgoCd, openNeighbour, setFence } from './hosted-scene.ts'
import { configMap, SHOP } from './repository-objects.ts'
import { openRepositoryScene, PATIENCE, type RepositoryScene } from './repository-scene.ts'
import { TOKEN_SECRET } from './runtime-process.ts'
import { openStatusScene, WELL } from './status-scene.ts'

const CHART = 'windlass-gitops-runtime'
const root = join(import.meta.dirname, '../../..')

let at: RepositoryScene
beforeAll(async () => {
  at = await openRepositoryScene()
})
afterAll(() => at?.[Symbol.asyncDispose]())

/** The definition of rollouts in the second cluster, as kubectl names it. */
const rolloutsDefinition = (): Promise<string> => {
  const second = ['--kubeconfig', at.kubeconfig, '--context', 'Staging/EU']
  return at.cluster.kubectl(...second, 'get', 'customresourcedefinition', 'rollouts.argoproj.io', '--output', 'name')
}

test('a runtime applies the repository: the application of its folder and that of its cluster are synced (O031)', async () => {
  const set = await at.windlass(`gitops config set prod --shared-config-repo ${at.forge.url}/mira/gitops.git`)
  expect(set).toBe('gitops-runtime/prod set up\n')
  await at.applyRepository('prod')
  await at.until('prod', 'prod-isc', isSynced)
  await at.until('prod', 'in-cluster', isSynced)
  expect(await at.applications()).toEqual(['in-cluster', 'prod-isc'])
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
  await expect.poll(() => at.windlass('gitops cluster list prod'), PATIENCE).toMatch(row)
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
    .poll(() => at.arrived(...names), PATIENCE)
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
  await expect.poll(() => at.arrived('for-control-planes'), PATIENCE).toMatchObject({ prod: [], staging: ['for-control-planes'] })
})

test('a Git source is applied, edited, and deleted without its objects (O035)', async () => {
  await at.write('apps', 'prod/settings.yaml', configMap('settings'))
  await at.write('apps', 'prod/extra.yaml', configMap('extra'))
  const found = (): Promise<string[]> => at.configMaps(at.cluster.kube, at.namespaces.prod, 'settings', 'extra')
  await at.windlass(`gitops git-source create prod apps --git-src-repo ${at.forge.url}/mira/apps.git/prod?ref=main`)
  await at.until('prod', 'apps', isSynced)
  await expect.poll(found, PATIENCE).toEqual(['extra', 'settings'])
  await at.windlass('gitops git-source edit prod apps --exclude extra.yaml')
  await expect.poll(found, PATIENCE).toEqual(['settings'])
  await at.until('prod', 'apps', isSynced)
  await at.windlass('gitops git-source delete prod apps')
  await expect.poll(at.applications, PATIENCE).toEqual(['in-cluster', 'prod-isc', 'staging-eu'])
  expect(await found()).toEqual(['settings'])
})

test('only configuration runtimes apply products and promotions, also after a change of which they are (O072)', async () => {
  await at.write('gitops', 'resources/configurations/products/p.yaml', configMap('product'))
  await at.windlass('gitops app refresh prod in-cluster')
  await at.windlass('gitops app refresh staging in-cluster')
  await expect.poll(() => at.arrived('product'), PATIENCE).toEqual({ prod: ['product'], staging: [], eu: [] })
  await at.windlass('gitops config set staging --configuration-runtime=true')
  await at.windlass('gitops config set prod --configuration-runtime=false')
  await expect.poll(() => at.arrived('product'), PATIENCE).toEqual({ prod: [], staging: ['product'], eu: [] })
  await at.windlass('gitops config set prod --configuration-runtime=true')
  await expect.poll(() => at.arrived('product'), PATIENCE).toEqual({ prod: ['product'], staging: ['product'], eu: [] })
})

test('Argo Rollouts is installed in a managed cluster by a commit, and its definition is there (O049)', async () => {
  const version = '2.41.1'
  await using registry = await openChartRegistry(at)
  const crds = join(await compiledArgoCd(), 'crds')
  await registry.push(await registry.chartWith('argo-rollouts', join(crds, 'rollout-crd.yaml')), version)
  await registry.logIn('rollouts-registry', 'repository')
  const line = `gitops cluster create-argo-rollouts prod --server-url ${at.second.access.server}`
  const done = await at.windlass(`${line} --chart ${registry.urlOf('argo-rollouts')} --version ${version}`)
  expect(done).toBe(`application/argo-rollouts-staging-eu set to ${version}\n`)
  // Argo CD ignores changes of the status of a definition, so its health is that of the moment of the comparison.
  await at.until('prod', 'argo-rollouts-staging-eu', ({ status }) => status?.sync?.status === 'Synced')
  expect(await rolloutsDefinition()).toBe('customresourcedefinition.apiextensions.k8s.io/rollouts.argoproj.io')
  expect(await at.windlass(line)).toBe('application/argo-rollouts-staging-eu unchanged\n')
})

test('a managed cluster that is removed keeps what runs there (O056)', async () => {
  expect(await at.windlass('gitops cluster remove prod staging-eu')).toBe('cluster/staging-eu removed\n')
  await expect.poll(at.applications, PATIENCE).toEqual(['in-cluster', 'prod-isc'])
  expect((await at.arrived('everywhere')).eu).toEqual(['everywhere'])
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
  await using registry = await openChartRegistry(at)
  for (const version of ['1.2.3', '1.3.0']) await registry.push(join(root, 'charts', CHART), version)
  await registry.logIn('registry', 'repo-creds')
  const colon = WINDLASS_IMAGE.lastIndexOf(':')
  const values = await registry.helm.values({
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
    await expect.poll(chartOf, PATIENCE).toBe(`${CHART}-${version}`)
    return at.until('prod', 'prod', isSynced)
  }
  await at.windlass(`gitops chart set prod --chart ${registry.urlOf(CHART)} --version 1.2.3 --values ${values}`)
  await synced('1.2.3')
  await at.windlass('gitops chart set prod --version 1.3.0')
  await synced('1.3.0')
  // A rollback is the earlier version.
  await at.windlass('gitops chart set prod --version 1.2.3')
  await synced('1.2.3')
})

test('the status of a runtime names the part that is broken, and no other (O062, O088)', async () => {
  const { cluster, admin, forge } = at
  const status = await openStatusScene(at)
  onTestFinished(() => status[Symbol.asyncDispose]())
  // A runtime from whose set-up two steps are missing.
  await status.until('runtimeGitToken failed', 'gitSourceConfigured failed', ...WELL)
  await status.registerToken()
  await at.windlass(`gitops git-source create prod apps --git-src-repo ${forge.url}/mira/apps.git/prod?ref=main`)
  await status.until(...WELL)
  expect((await admin.gitopsStatus.get('prod')).problems).toEqual([])
  await status.breakSecret()
  await status.breakIntegration()
  await status.breakToken()
  await status.breakArgoCd()
  await at.windlass('gitops git-source delete prod apps')
  await status.until('gitSourceConfigured failed', ...WELL)
  // What the application has applied stays.
  await cluster.kube.delete({ kind: 'Application', namespace: at.namespaces.prod, name: 'prod-isc' })
  await status.until('isc failed', 'gitSourceConfigured failed', ...WELL)
  await at.applyRepository('prod')
})

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
  await expect.poll(at.applications, PATIENCE).toEqual(['apps', 'in-cluster', 'prod', 'prod-isc', 'shop', 'staging-eu'])
  for (const name of ['in-cluster', 'apps', 'staging-eu']) await at.until('prod', name, isSynced)
  // Argo CD looks at a cluster once it has applications there.
  await expect.poll(shownState, PATIENCE).toContainEqual(expect.stringMatching(/staging-eu +v\S+ +successful/))
  const before = await shownState()
  const removed = await at.notes(`gitops uninstall prod --yes --kube-namespace ${namespace}`)
  expect(removed).toContain('application/prod-isc deleted; its objects stay\napplication/in-cluster deleted; its objects stay\n')
  expect(removed).toContain('Kept: the Secrets with credentials of managed clusters, which Argo CD uses: cluster-staging-eu.')
  // What the Git source has applied is that of users.
  expect(await at.applications()).toEqual(['shop'])
  expect((await at.arrived('settings')).prod).toEqual(['settings'])
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
  await expect.poll(at.applications, PATIENCE).toEqual(['apps', 'in-cluster', 'prod', 'prod-isc', 'shop', 'staging-eu'])
  for (const name of ['in-cluster', 'apps', 'staging-eu']) await at.until('prod', name, isSynced)
  // What Argo CD says of the clusters is reported each second.
  await expect.poll(shownState, PATIENCE).toEqual(before)
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
  expect(await at.applications()).toEqual(['shop'])
  expect((await at.arrived('settings')).prod).toEqual(['settings'])
  const left = await cluster.names({ kind: 'Secret', namespace, labels: 'io.codefresh.integration-type' })
  expect([left, await cluster.kube.find({ kind: 'Secret', namespace, name: 'codefresh-token' })]).toEqual([[], undefined])
  const files = await at.files('gitops')
  expect(files.filter((path) => /(?:^|\/)prod\//.test(path))).toEqual([])
  expect(files).toEqual(expect.arrayContaining(['runtimes/staging/in-cluster.yaml', 'resources/runtimes/staging/d.yaml']))
  expect(await ofStaging()).toEqual(others)
  expect(await at.notes(line)).toContain('The server does not know the runtime any more.')
  expect(await at.applications()).toEqual(['shop'])
})

test('a hosted runtime deploys to the cluster of its account only, and another account beside it is out of its reach (O079)', async () => {
  const { cluster, namespaces } = at
  const neighbour = await openNeighbour(at)
  onTestFinished(() => neighbour[Symbol.asyncDispose]())
  const fence = await setFence(cluster, namespaces.prod)
  onTestFinished(() => fence[Symbol.asyncDispose]())
  const limited = await limitArgoCd(cluster, at.argo)
  onTestFinished(() => limited[Symbol.asyncDispose]())
  const runtimeToken = await at.reinstall('prod', { isHosted: true })
  const hosted = { at, neighbour, runtimeToken }
  await useHosted(hosted)
  await meetProjects(hosted)
  // Without the projects, Argo CD and then its rights in the cluster are in the way.
  await fence.open()
  await meetRights(hosted)
  await keepApart(hosted)
  await meetQuota(hosted)
  await checkNamespaces(hosted)
})
