/** A real Argo CD, an app-proxy with its own account in the same namespace, a server, a repository, and the command line of the admin. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startAppProxy } from '@windlass/app-proxy'
import { nodeTransport, proxyFrom, silentLog, systemClock } from '@windlass/kit'
import { openKube, type Kube, type KubeObject } from '@windlass/kube'
import { parse } from 'yaml'
import { openHttpScene, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { windlass } from '../../../packages/cli/test/windlass.ts'
import { startArgoCd, type ArgoCd } from '../../support/argocd.ts'
import { startCluster, type Cluster } from '../../support/cluster.ts'
import { ensureImages } from '../../support/images.ts'
import { createRepository, startGitServer } from '../../support/git-server.ts'
import { runProgram } from '../../support/process.ts'

/** Rights of the app-proxy, as the chart has them. */
const ROLE = join(import.meta.dirname, '../../../packages/app-proxy/rbac/role.yaml')
const REPO = 'acme/deploy'
/** A controller on a busy machine. Milliseconds. */
const PATIENCE_MS = 60_000

export interface ArgoScene extends AsyncDisposable {
  readonly cluster: Cluster
  readonly argo: ArgoCd
  readonly http: HttpScene
  /** Client with the rights of the app-proxy only. */
  readonly proxyKube: Kube
  readonly proxyUrl: string
  /** Token of the runtime `prod`. */
  readonly runtimeToken: string
  /** Namespace of the applications, and the one into which they deploy. */
  readonly namespace: string
  readonly target: string
  /** Writes files of the repository, deletes those without a text, and pushes one commit. Returns its hash. */
  push(files: Readonly<Record<string, string | undefined>>): Promise<string>
  /** Creates an application of a folder of the repository. */
  create(name: string, spec?: object): Promise<void>
  /** Waits until an application is as wanted, by a watch. */
  until(name: string, isDone: (app: Live) => boolean): Promise<Live>
  /** Runs `windlass gitops app COMMAND prod …`, with the key of the admin or another one. */
  app(words: string, key?: string): Promise<{ readonly code: number; readonly text: string }>
}

/** The fields of an application that tests read. */
export interface Live {
  readonly metadata: { readonly annotations?: Record<string, string> }
  readonly operation?: object
  readonly status?: {
    readonly health?: { readonly status: string }
    readonly sync?: { readonly status: string; readonly revision: string }
    readonly operationState?: {
      readonly phase: string
      readonly operation: { readonly sync: Record<string, unknown>; readonly initiatedBy: object; readonly retry?: object }
    }
  }
}

export async function openArgoScene(): Promise<ArgoScene> {
  await using opening = new AsyncDisposableStack()
  const [namespace, target] = [`argocd-${process.pid}`, `argocd-${process.pid}-shop`]
  const cluster = await startCluster()
  const { SHELL_IMAGE = '' } = await ensureImages('shell')
  await cluster.load(SHELL_IMAGE)
  const folder = await mkdtemp(join(tmpdir(), 'windlass-argo-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const repository = await openRepository(folder)
  const git = opening.use(await startGitServer({ root: join(folder, 'git'), host: cluster.host }))
  const argo = opening.use(await startArgoCd(cluster, { namespace, targets: [target] }))
  const http = opening.use(await openHttpScene({ tunnels: { domain: 'tunnels.test', port: 0 } }))
  const { token: runtimeToken } = await http.admin.gitopsRuntimes.createToken('prod')
  const access = await accountOf(cluster, namespace)
  const kube = openKube({ access, log: silentLog })
  opening.defer(() => kube.close())
  const [tokenFile, argoTokenFile] = [join(folder, 'token'), join(folder, 'argo-token')]
  await writeFile(tokenFile, runtimeToken)
  await writeFile(argoTokenFile, argo.token)
  const proxy = opening.use(
    await startAppProxy({
      port: 0,
      server: { url: http.server.url, transport: nodeTransport({ connectMs: 5_000 }) },
      runtime: 'prod',
      accountId: http.server.app.accountId,
      tokenFile,
      storeIv: 'the random text of this test',
      origins: ['https://ci.example.com'],
      kube,
      namespace,
      argo: { server: { url: argo.url, transport: nodeTransport({ connectMs: 5_000 }) }, tokenFile: argoTokenFile },
      proxy: proxyFrom({}),
      mayUseLoopback: true,
      workFolder: folder,
      lingerMs: 0,
      environment: process.env,
      version: '1.2.3',
      clock: systemClock,
      log: silentLog,
    }),
  )
  const opened = opening.move()

  return {
    cluster,
    argo,
    http,
    proxyKube: kube,
    proxyUrl: proxy.url,
    runtimeToken,
    namespace,
    target,
    push: repository.push,
    async create(name, spec = {}) {
      await cluster.kube.create({
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'Application',
        metadata: { name, namespace },
        spec: {
          project: 'default',
          source: { repoURL: `${git.url}/${REPO}.git`, path: name, targetRevision: 'main' },
          destination: { server: 'https://kubernetes.default.svc', namespace: target },
          ...spec,
        },
      })
    },
    async until(name, isDone) {
      const stopped = AbortSignal.timeout(PATIENCE_MS)
      let last: KubeObject | undefined
      for await (const change of cluster.kube.watch(
        { kind: 'Application', namespace, fields: `metadata.name=${name}` },
        { signal: stopped },
      )) {
        if (change.type !== 'set') continue
        last = change.object
        // What Argo CD writes.
        const app = last as unknown as Live
        if (isDone(app)) return app
      }
      throw new Error(`${name} is not as wanted: ${JSON.stringify(last?.['status'])}\n${await argo.logs()}`)
    },
    app: (words, key) => {
      const [command = '', ...rest] = words.split(' ')
      return windlass(http, ['gitops', 'app', command, 'prod', ...rest, '--runtime-url', proxy.url], key)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Returns the access of an account with the rights of the app-proxy. */
async function accountOf(cluster: Cluster, namespace: string): Promise<Cluster['access']> {
  const name = 'cap-app-proxy'
  const { rules } = parse(await readFile(ROLE, 'utf8')) as { rules: object[] }
  const rbac = 'rbac.authorization.k8s.io'
  await cluster.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata: { name, namespace }, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name, namespace },
      roleRef: { apiGroup: rbac, kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  )
  const { token } = await cluster.kube.issueToken({ kind: 'ServiceAccount', namespace, name }, 3_600)
  const { server, ca, insecure } = cluster.access
  return { server, ca, insecure, namespace, token: () => token }
}

/** Creates the repository and a work tree of it. */
async function openRepository(folder: string): Promise<Pick<ArgoScene, 'push'>> {
  const [root, work, first] = [join(folder, 'git'), join(folder, 'work'), join(folder, 'first')]
  await mkdir(first)
  await writeFile(join(first, 'README.md'), 'Applications of this test.\n')
  await createRepository({ root, name: REPO, from: first })
  await runProgram('git', ['clone', '--quiet', join(root, `${REPO}.git`), work])
  const git = (...args: string[]): Promise<string> =>
    runProgram('git', ['-C', work, '-c', 'user.name=Mira', '-c', 'user.email=mira@example.com', ...args])
  return {
    async push(files) {
      for (const [name, text] of Object.entries(files)) {
        const path = join(work, name)
        await mkdir(dirname(path), { recursive: true })
        await (text === undefined ? rm(path) : writeFile(path, text))
      }
      await git('add', '--all')
      await git('commit', '--quiet', '--message', 'Change the applications')
      await git('push', '--quiet')
      return (await git('rev-parse', 'HEAD')).trim()
    },
  }
}
