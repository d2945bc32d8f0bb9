/**
 * The shared configuration repository on a real Argo CD: what each folder reaches, Git sources, a managed cluster, configuration runtimes, the chart of a runtime. The
 * managed cluster is a second API server with an etcd of its own. Argo CD looks at Git only when it is asked to, so what arrives without `refresh` was asked for by the app-proxy.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openHelm } from '../../support/helm.ts'
import { ensureImages } from '../../support/images.ts'
import { startRegistry } from '../../support/registry.ts'
import { isSynced, type Live } from './argocd-runtime.ts'
import { openRepositoryScene, type RepositoryScene } from './repository-scene.ts'

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

test('a managed cluster is taken by Argo CD: its application is synced with the credentials of the Secret (O054)', async () => {
  const line = `gitops cluster add prod --context Staging/EU --kubeconfig ${at.kubeconfig} --labels team=shop`
  expect(await at.windlass(line)).toBe('cluster/staging-eu added\n')
  await at.until('prod', 'staging-eu', isSynced)
  const row = new RegExp(`^${at.second.access.server} +staging-eu +yes +runtimes/prod/staging-eu.yaml$`, 'm')
  expect(await at.windlass('gitops cluster list prod')).toMatch(row)
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

test('a managed cluster that is removed keeps what runs there (O056)', async () => {
  expect(await at.windlass('gitops cluster remove prod staging-eu')).toBe('cluster/staging-eu removed\n')
  await expect.poll(applications, patience).toEqual(['in-cluster', 'prod-isc'])
  expect((await arrived('everywhere')).eu).toEqual(['everywhere'])
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
  const data = { token: at.runtimeToken, encryptionIV: 'the random text of this test' }
  const registryLogin = { type: 'helm', url: `${registry.domain}/charts`, enableOCI: 'true', insecureOCIForceHttp: 'true' }
  const labels = { 'argocd.argoproj.io/secret-type': 'repo-creds' }
  await cluster.apply(
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'runtime-token', namespace }, stringData: data },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'registry', namespace, labels }, stringData: registryLogin },
  )
  const colon = WINDLASS_IMAGE.lastIndexOf(':')
  const values = await helm.values({
    global: {
      codefresh: { url: 'https://ci.example.com', accountId: '65f0c1d2a3b4c5d6e7f80912' },
      runtime: { name: 'prod', tokenSecret: 'runtime-token', ingressUrl: 'https://gitops.example.com' },
    },
    'tunnel-client': { enabled: false },
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
