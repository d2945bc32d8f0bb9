/** What a hosted runtime has around it: the projects of its chart, and the runtime of another account in a namespace beside it. */
import type { Kube, KubeObject } from '@windlass/kube'
import { parseAllDocuments } from 'yaml'
import { windlass } from '../../../packages/cli/test/windlass.ts'
import { removeOpenProject } from '../../../packages/cli/src/gitops/hosted.ts'
import { openHttpScene, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { CONTROLLER_RIGHTS } from '../../support/argocd.ts'
import { addNamespace, type Cluster } from '../../support/cluster.ts'
import { openHelm, type Rendered } from '../../support/helm.ts'
import { startRuntime } from './runtime-process.ts'
import type { SharedArgoCd } from './shared-argocd.ts'

const CHART = 'windlass-gitops-runtime'

/** The projects of a hosted runtime. At the end the namespace has those that it had before. */
export interface Fence extends AsyncDisposable {
  /** Lets both projects do everything, as that of Argo CD does. */
  open(): Promise<void>
}

/** Creates the projects as an installation does. */
export async function setFence({ kube, apply, kubectl }: Cluster, namespace: string): Promise<Fence> {
  await using opening = new AsyncDisposableStack()
  const ref = { kind: 'AppProject', namespace, name: 'default' } as const
  // Argo CD has created it.
  const before = (await kube.find(ref)) as KubeObject
  const projects = (await renderHosted(namespace)).filter(({ kind }) => kind === ref.kind)
  opening.defer(async () => {
    for (const { metadata } of projects) await kube.delete({ ...ref, name: metadata.name })
    const { apiVersion, kind, spec } = before
    await kube.create({ apiVersion, kind, metadata: { namespace, name: ref.name }, spec })
  })
  await removeOpenProject(kube, namespace)
  await apply(...projects)
  const opened = opening.move()
  return {
    async open() {
      // The kinds that a namespace may have are limited by one list only.
      const patch = JSON.stringify({ spec: { namespaceResourceWhitelist: null, ...(before['spec'] as object) } })
      const names = projects.map(({ metadata }) => metadata.name)
      await kubectl('--namespace', namespace, 'patch', 'appproject', ...names, '--type=merge', '--patch', patch)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Limits Argo CD to its namespace and to the rights of its controller there, until the end. It reads its cluster anew for both. */
export async function limitArgoCd({ apply, kubectl }: Cluster, { namespace }: SharedArgoCd): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const rbac = 'rbac.authorization.k8s.io'
  const subjects = [{ kind: 'ServiceAccount', name: 'argocd', namespace }]
  const binding = (name: string, kind: string, role: string): object => ({
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: { name, namespace },
    roleRef: { apiGroup: rbac, kind, name: role },
    subjects,
  })
  const inCluster = ['--namespace', namespace, 'secret/in-cluster'] as const
  const before = await kubectl('get', ...inCluster, '--output', 'jsonpath={.data.namespaces}')
  const setNamespaces = async (data: string): Promise<void> => {
    await kubectl('patch', ...inCluster, '--type=merge', '--patch', JSON.stringify({ data: { namespaces: data } }))
  }
  const [all, limited] = [`argocd-${namespace}`, 'argocd-limited']
  opening.defer(async () => {
    await apply(binding(all, 'ClusterRole', 'cluster-admin'))
    await kubectl('--namespace', namespace, 'delete', 'role,rolebinding', limited)
    await setNamespaces(before)
  })
  const role = { apiVersion: `${rbac}/v1`, kind: 'Role', metadata: { name: limited, namespace }, rules: CONTROLLER_RIGHTS }
  await apply(role, binding(limited, 'Role', limited))
  await kubectl('--namespace', namespace, 'delete', 'rolebinding', all)
  await setNamespaces(Buffer.from(namespace).toString('base64'))
  const opened = opening.move()
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Returns true for an object that only hosted runtimes have. */
function isLimit({ metadata }: Rendered): boolean {
  return JSON.stringify(metadata['labels']).includes('hosted-runtime')
}

/** Renders the chart of a hosted runtime in a namespace. */
async function renderHosted(namespace: string): Promise<Rendered[]> {
  const helm = await openHelm()
  try {
    const values = await helm.values({
      global: {
        codefresh: { url: 'https://ci.example.com', accountId: '65f0c1d2a3b4c5d6e7f80912' },
        runtime: { name: 'prod', tokenSecret: 'codefresh-token', codefreshHosted: true },
      },
      'tunnel-client': { tunnelServer: { subdomainHost: 'tunnels.example.com' } },
      hosted: { allowedNetworks: ['10.0.0.0/8'] },
    })
    const chart = new URL(`../../../charts/${CHART}`, import.meta.url).pathname
    const text = await helm.run('template', CHART, chart, '--namespace', namespace, '--values', values)
    // The chart is ours.
    return parseAllDocuments(text).map((document) => document.toJS() as Rendered)
  } finally {
    await helm.close()
  }
}

/** The runtime `prod` of another account: a server of its own, and a namespace beside that of the first one. */
export interface Neighbour extends AsyncDisposable {
  readonly http: HttpScene
  readonly namespace: string
  /** Client with the rights of its app-proxy only. */
  readonly kube: Kube
  /** Runs `windlass` with the key of its admin or another one, at its own runtime unless the line names another one. */
  windlass(line: string, key?: string): Promise<{ readonly code: number; readonly text: string }>
  /** Creates what the chart of a hosted runtime has for its namespace: the quota, the policies, the projects. */
  limit(): Promise<void>
  /** Sets what an installation wants of its Argo CD. */
  respectRights(): Promise<void>
}

export async function openNeighbour({
  cluster,
  argo,
}: {
  readonly cluster: Cluster
  readonly argo: SharedArgoCd
}): Promise<Neighbour> {
  await using opening = new AsyncDisposableStack()
  const namespace = `${argo.namespace}-neighbour`
  await addNamespace(cluster, namespace)
  opening.defer(async () => void (await cluster.kubectl('delete', 'namespace', namespace, '--wait=false')))
  const http = opening.use(await openHttpScene())
  const runtime = opening.use(await startRuntime({ cluster, http, argo, name: 'prod', namespace, isHosted: true }))
  const opened = opening.move()
  return {
    http,
    namespace,
    kube: runtime.kube,
    windlass: (line, key) => {
      const place = line.includes('--runtime-url') ? [] : ['--runtime-url', runtime.url]
      return windlass(http, [...line.split(' '), ...place], key)
    },
    limit: async () => cluster.apply(...(await renderHosted(namespace)).filter(isLimit)),
    async respectRights() {
      const metadata = { name: 'argocd-cm', namespace }
      await cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'resource.respectRBAC': 'normal' } })
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
