/** What a hosted runtime may do, and what is in its way: its own refusals, the projects, the rights of its Argo CD, its quota, and the account beside it. */
import { expect, onTestFinished } from 'vitest'
import { checkHosted } from '../../../packages/cli/src/gitops/hosted.ts'
import { isSynced, type Live } from './argocd-runtime.ts'
import type { Neighbour } from './hosted-scene.ts'
import { applicationOf, configMap } from './repository-objects.ts'
import type { RepositoryScene } from './repository-scene.ts'

const OWN_CLUSTER = 'https://kubernetes.default.svc'

export interface Hosted {
  /** Its runtime `prod` is hosted. */
  readonly at: RepositoryScene
  readonly neighbour: Neighbour
  /** Token of the hosted runtime. */
  readonly runtimeToken: string
}

const repositoryIn = (at: RepositoryScene): string => `${at.forge.url}/mira/apps.git`

/** Returns whether the status of an application has a text. */
const saying =
  (text: string) =>
  (app: Live): boolean =>
    JSON.stringify(app.status ?? {}).includes(text)

/** The account uses the runtime: a cluster of its own, a Git source, an application. The runtime refuses what cannot be. */
export async function useHosted({ at }: Hosted): Promise<void> {
  const { namespaces, second } = at
  const namespace = namespaces.prod
  const repository = repositoryIn(at)
  await at.write('gitops', 'resources/all-runtimes-all-clusters/hosted.yaml', configMap('to-clusters'))
  const set = await at.notes(`gitops config set prod --shared-config-repo ${at.forge.url}/mira/gitops.git`)
  expect(set).not.toContain('with products and promotions')
  await at.applyRepository('prod')
  await at.windlass(`gitops cluster add prod --context Staging/EU --kubeconfig ${at.kubeconfig}`)
  await at.until('prod', 'staging-eu', isSynced)
  await at.write(
    'apps',
    'hosted/shop.yaml',
    applicationOf('shop-eu', {
      repository,
      project: 'default',
      path: 'objects',
      destination: `{ server: '${second.access.server}', namespace: ${namespace} }`,
    }),
  )
  await at.write('apps', 'objects/a.yaml', configMap('from-hosted'))
  await at.windlass(`gitops git-source create prod apps --git-src-repo ${repository}/hosted?ref=main`)
  await at.until('prod', 'apps', isSynced)
  await at.until('prod', 'shop-eu', isSynced)
  expect(await at.arrived('from-hosted', 'to-clusters')).toMatchObject({ prod: [], eu: ['from-hosted', 'to-clusters'] })

  // The runtime refuses what cannot be.
  const create = `gitops app create prod own --repo ${repository} --path objects`
  await expect(at.windlass(`${create} --dest-namespace ${namespace}`)).rejects.toThrow('deploys nothing to its own cluster')
  await expect(at.windlass('gitops config set prod --configuration-runtime=true')).rejects.toThrow('is hosted')
  await expect(at.windlass('gitops chart set prod --chart oci://r.example.com/x --version 1.0.0')).rejects.toThrow('is hosted')
}

/** Who writes to Git without the runtime meets the projects of Argo CD. */
export async function meetProjects({ at, neighbour }: Hosted): Promise<void> {
  const namespace = at.namespaces.prod
  const repository = repositoryIn(at)
  const other = `{ server: '${OWN_CLUSTER}', namespace: ${neighbour.namespace} }`
  const own = `{ server: '${OWN_CLUSTER}', namespace: ${namespace} }`
  const refused = [
    applicationOf('to-other', { repository, project: 'default', path: 'objects', destination: other }),
    applicationOf('by-name', {
      repository,
      project: 'default',
      path: 'objects',
      destination: `{ name: in-cluster, namespace: ${namespace} }`,
    }),
    // Its user syncs it, so that Argo CD does not repeat what failed.
    applicationOf('to-own', { repository, project: 'windlass-runtime', path: 'objects', destination: own }).replace(
      '{ automated: {} }',
      '{}',
    ),
  ]
  await at.write('apps', 'hosted/refused.yaml', refused.join('---\n'))
  await at.windlass('gitops app refresh prod apps')
  for (const name of ['to-other', 'by-name'])
    await at.until('prod', name, saying("do not match any of the allowed destinations in project 'default'"))
  await at.windlass('gitops app sync prod to-own')
  await at.until('prod', 'to-own', saying('is not permitted in project windlass-runtime'))
  await at.write(
    'apps',
    'hosted/open.yaml',
    'apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: { name: open }\nspec: {}\n',
  )
  await at.windlass('gitops app refresh prod apps')
  await at.until('prod', 'apps', saying('AppProject is not permitted in project windlass-runtime'))
}

/** Its applications meet the rights of Argo CD in the cluster. */
export async function meetRights({ at, neighbour }: Hosted): Promise<void> {
  const { cluster } = at
  const namespace = at.namespaces.prod
  await at.windlass('gitops app refresh prod to-other')
  await at.until('prod', 'to-other', saying('is not managed'))
  await at.windlass('gitops app sync prod to-own')
  await at.until('prod', 'to-own', saying('is forbidden'))
  const mayArgo = (verb: string, resource: string, place: string): Promise<string> =>
    cluster.kubectl('auth', 'can-i', verb, resource, '--namespace', place, '--as', `system:serviceaccount:${namespace}:argocd`)
  expect(await mayArgo('create', 'applications.argoproj.io', namespace)).toContain('yes')
  for (const resource of ['configmaps', 'secrets', 'applications.argoproj.io'])
    await expect(mayArgo('create', resource, neighbour.namespace), resource).rejects.toThrow()
  await expect(mayArgo('get', 'secrets', neighbour.namespace)).rejects.toThrow()
  expect(await at.configMaps(cluster.kube, neighbour.namespace, 'from-hosted')).toEqual([])
  expect((await at.arrived('from-hosted')).prod).toEqual([])
}

/** The two accounts have a runtime of the same name, and neither key, nor token, nor account of the cluster opens the other one. */
export async function keepApart({ at, neighbour, runtimeToken }: Hosted): Promise<void> {
  const namespace = at.namespaces.prod
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
}

/** An account cannot take what the nodes have. */
export async function meetQuota({ at: { cluster }, neighbour }: Hosted): Promise<void> {
  await neighbour.limit()
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: neighbour.namespace },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }
  await expect(cluster.apply(claim)).rejects.toThrow(/quota: hosted-runtime/)
}

/** Before an installation the rights of the accounts of a namespace are looked at. */
export async function checkNamespaces({ at, neighbour }: Hosted): Promise<void> {
  const { cluster } = at
  const { kube } = cluster
  const namespace = at.namespaces.prod
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
}
