/** Two runtimes on the shared Argo CD with repositories at a real forge, and a second cluster: an API server of its own, without nodes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kube } from '@windlass/kube'
import { inject } from 'vitest'
import { parse } from 'yaml'
import { callWindlass } from '../../../packages/cli/test/windlass.ts'
import { openHttpScene, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { startApiServer, type ApiServer } from '../../support/api-server.ts'
import { startCluster, type Cluster } from '../../support/cluster.ts'
import { joinGitea, type Forge, type GiteaUser } from '../../support/gitea.ts'
import { runProgram } from '../../support/process.ts'
import { untilApplication, type Live } from './argocd-runtime.ts'
import { startRuntime, type Runtime, type RuntimeOptions } from './runtime-process.ts'
import type { SharedArgoCd } from './shared-argocd.ts'

const root = join(import.meta.dirname, '../../..')
const OF_CHART = 'deployment,statefulset,service,serviceaccount,role,rolebinding,networkpolicy,configmap'

export type RuntimeName = 'prod' | 'staging'

/** For what Argo CD or the reports of a runtime bring. */
export const PATIENCE = { timeout: 120_000, interval: 200 }

export interface RepositoryScene extends AsyncDisposable {
  readonly cluster: Cluster
  readonly argo: SharedArgoCd
  readonly second: ApiServer
  /** Kubeconfig with the context `Staging/EU`: the second cluster, and the token of a service account there. */
  readonly kubeconfig: string
  readonly forge: Forge
  /** Namespace of each runtime. */
  readonly namespaces: Record<RuntimeName, string>
  readonly runtimes: Readonly<Record<RuntimeName, Runtime>>
  /** The server, as its admin calls it. */
  readonly admin: HttpScene['admin']
  /** The user of the forge that has the repositories. */
  readonly mira: GiteaUser
  /** Base URL of the server. */
  readonly serverUrl: string
  /** API key of the admin. */
  readonly adminToken: string
  /** Base URL of a runtime. */
  urlOf(runtime: RuntimeName): string
  /** Runs `windlass` as the admin, and returns what it prints. Throws if it fails. It names its runtime. */
  windlass(line: string): Promise<string>
  /** Like `windlass`, and returns the notes of the command. */
  notes(line: string): Promise<string>
  /** Installs a runtime again that was removed: another app-proxy with a new token of the server, and the Git token of `mira`. Returns its token. A hosted one is in the cluster of the server. */
  reinstall(runtime: RuntimeName, options?: Pick<RuntimeOptions, 'isHosted'>): Promise<string>
  /** Creates the application that applies the repository, as the command line prints it. */
  applyRepository(runtime: RuntimeName): Promise<void>
  /** Client of each runtime, with the rights of its app-proxy only. */
  readonly accounts: Record<RuntimeName, Kube>
  /** Lists the files of a repository of `mira`. */
  files(repo: string): Promise<string[]>
  /** Writes a file of a repository of `mira`, or deletes it, as another person would. */
  write(repo: string, path: string, content: string | undefined): Promise<void>
  /** Waits until an application of a runtime is as wanted. */
  until(runtime: RuntimeName, name: string, isDone: (app: Live) => boolean): Promise<Live>
  /** Returns those of these ConfigMaps that are in a namespace. */
  configMaps(kube: Pick<Cluster['kube'], 'list'>, namespace: string, ...among: string[]): Promise<string[]>
  /** Returns the ConfigMaps of these names in both namespaces of the test cluster and in the second cluster. */
  arrived(...among: string[]): Promise<Record<RuntimeName | 'eu', string[]>>
  /** Lists the applications in the namespace of `prod`. */
  applications(): Promise<string[]>
}

export async function openRepositoryScene(): Promise<RepositoryScene> {
  await using opening = new AsyncDisposableStack()
  const argo = inject('argoCd')
  const namespaces = { prod: argo.namespace, staging: argo.second }
  const cluster = await startCluster()
  const second = opening.use(await startApiServer(cluster))
  const forge = joinGitea(inject('gitea'))
  const mira = await forge.addUser('mira')
  for (const name of ['gitops', 'apps'])
    await mira.api('POST', '/user/repos', { name, private: true, default_branch: 'main', auto_init: true })
  opening.defer(() =>
    cluster.clear({ kind: 'Secret', namespace: argo.namespace, labels: 'argocd.argoproj.io/secret-type=repo-creds' }),
  )
  // What the chart of a runtime has made: its application is removed without it.
  const chart = ['--selector', 'app.kubernetes.io/part-of=windlass-gitops-runtime', '--ignore-not-found', '--timeout=60s']
  opening.defer(async () => void (await cluster.kubectl('--namespace', argo.namespace, 'delete', OF_CHART, ...chart)))
  await cluster.apply(repositoryLogin(argo.namespace, forge.url, mira))
  const http = opening.use(await openHttpScene())
  const common = { cluster, http, argo }
  const runtimes = {
    prod: opening.use(await startRuntime({ ...common, name: 'prod', namespace: namespaces.prod })),
    staging: opening.use(await startRuntime({ ...common, name: 'staging', namespace: namespaces.staging })),
  }
  const register = async ({ url }: Runtime): Promise<void> => {
    const put = (path: string, body: object): Promise<void> =>
      putAt(`${url}/app-proxy/api/git-integrations/default${path}`, http.adminToken, body)
    await put('', { provider: 'gitea', url: forge.url })
    await put('/token', { token: mira.token })
  }
  for (const runtime of Object.values(runtimes)) await register(runtime)
  const folder = await mkdtemp(join(tmpdir(), 'windlass-repository-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const kubeconfig = join(folder, 'kubeconfig')
  await writeFile(kubeconfig, await managerOf(second, 'Staging/EU'))
  const helm = /HELM=(\S+)/.exec(await runProgram(join(root, 'scripts/helm/build'), []))?.[1] ?? ''
  const opened = opening.move()

  async function run(line: string): Promise<{ readonly stdout: string; readonly stderr: string }> {
    const words = line.split(' ')
    // The name is that of a runtime.
    const { url } = runtimes[(words.find((word) => Object.hasOwn(runtimes, word)) ?? 'prod') as RuntimeName]
    const own = { WINDLASS_URL: http.server.url, WINDLASS_API_KEY: http.adminToken, WINDLASS_CONFIG: '/nowhere/config' }
    const programs = { KUBECONFIG: cluster.kubeconfig, WINDLASS_HELM: helm }
    const done = await callWindlass([...words, '--runtime-url', url], { ...process.env, NO_COLOR: '1', ...own, ...programs })
    if (done.code !== 0) throw new Error(`windlass ${line}: ${done.stderr}`)
    return done
  }
  const windlass = async (line: string): Promise<string> => (await run(line)).stdout

  return {
    cluster,
    argo,
    second,
    kubeconfig,
    forge,
    namespaces,
    runtimes,
    admin: http.admin,
    mira,
    serverUrl: http.server.url,
    adminToken: http.adminToken,
    urlOf: (name) => runtimes[name].url,
    windlass,
    notes: async (line) => (await run(line)).stderr,
    async reinstall(name, options = {}) {
      runtimes[name] = opened.use(await startRuntime({ ...common, name, namespace: namespaces[name], ...options }))
      await register(runtimes[name])
      return runtimes[name].token
    },
    accounts: { prod: runtimes.prod.kube, staging: runtimes.staging.kube },
    async files(repo) {
      // Gitea writes it.
      const { tree } = (await mira.api('GET', `/repos/mira/${repo}/git/trees/main?recursive=true&per_page=1000`)) as {
        tree: { path: string; type: string }[]
      }
      return tree.filter(({ type }) => type === 'blob').map(({ path }) => path)
    },
    async applyRepository(runtime) {
      await cluster.apply(parse(await windlass(`gitops config application ${runtime}`)))
    },
    async write(repo, path, content) {
      const contents = `/repos/mira/${repo}/contents/${path}`
      // Gitea writes it.
      const found = (await mira.api('GET', contents).catch(() => undefined)) as { sha: string } | undefined
      const change = { message: `Change ${path}`, branch: 'main', ...(found !== undefined && { sha: found.sha }) }
      if (content === undefined) return void (await mira.api('DELETE', contents, change))
      const body = { ...change, content: Buffer.from(content).toString('base64') }
      return void (await mira.api(found === undefined ? 'POST' : 'PUT', contents, body))
    },
    until: (runtime, name, isDone) => untilApplication({ cluster, argo, namespace: namespaces[runtime] }, name, isDone),
    configMaps,
    arrived: async (...among) => ({
      prod: await configMaps(cluster.kube, namespaces.prod, ...among),
      staging: await configMaps(cluster.kube, namespaces.staging, ...among),
      eu: await configMaps(second.kube, namespaces.prod, ...among),
    }),
    applications: () => cluster.names({ kind: 'Application', namespace: namespaces.prod }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const configMaps: RepositoryScene['configMaps'] = async (kube, namespace, ...among) => {
  const all = await kube.list({ kind: 'ConfigMap', namespace, content: 'metadata' })
  return all
    .map(({ metadata }) => metadata.name)
    .filter((name) => among.includes(name))
    .toSorted()
}

/** Returns the Secret with which Argo CD reads the repositories of a forge. */
export function repositoryLogin(namespace: string, url: string, { name, token }: GiteaUser): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'forge', namespace, labels: { 'argocd.argoproj.io/secret-type': 'repo-creds' } },
    stringData: { type: 'git', url, username: name, password: token },
  }
}

async function putAt(url: string, token: string, body: object): Promise<void> {
  const headers = { authorization: token, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'PUT', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`PUT ${url}: ${answer.status} ${await answer.text()}`)
}

/** Creates the account of Argo CD in a cluster, with the rights of an administrator. Returns a kubeconfig with its token and this context. */
export async function managerOf({ kube, access }: ApiServer, context: string): Promise<string> {
  const account = { kind: 'ServiceAccount', namespace: 'kube-system', name: 'argocd-manager' } as const
  const { kind, ...metadata } = account
  await kube.create({ apiVersion: 'v1', kind, metadata })
  await kube.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: account.name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [account],
  })
  const { token } = await kube.issueToken(account, 86_400)
  const authority = Buffer.from(access.ca ?? '').toString('base64')
  return JSON.stringify({
    contexts: [{ name: context, context: { cluster: 'eu', user: 'manager' } }],
    clusters: [{ name: 'eu', cluster: { server: access.server, 'certificate-authority-data': authority } }],
    users: [{ name: 'manager', user: { token } }],
  })
}
