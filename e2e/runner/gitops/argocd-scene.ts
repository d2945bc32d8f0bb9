/** A runtime on the shared Argo CD, a server, a repository, and the command line of the admin. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Kube } from '@windlass/kube'
import { inject } from 'vitest'
import { openHttpScene, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { windlass } from '../../../packages/cli/test/windlass.ts'
import { startCluster, type Cluster } from '../../support/cluster.ts'
import { ensureImages } from '../../support/images.ts'
import { createRepository, startGitServer } from '../../support/git-server.ts'
import { runProgram } from '../../support/process.ts'
import { untilApplication, type Live } from './argocd-runtime.ts'
import { startRuntime } from './runtime-process.ts'
import type { SharedArgoCd } from './shared-argocd.ts'

const REPO = 'acme/deploy'

export interface ArgoScene extends AsyncDisposable {
  readonly cluster: Cluster
  readonly argo: SharedArgoCd
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

export async function openArgoScene(): Promise<ArgoScene> {
  await using opening = new AsyncDisposableStack()
  const argo = inject('argoCd')
  const { namespace, shop: target } = argo
  const cluster = await startCluster()
  const { SHELL_IMAGE = '' } = await ensureImages('shell')
  await cluster.load(SHELL_IMAGE)
  const folder = await mkdtemp(join(tmpdir(), 'windlass-argo-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const repository = await openRepository(folder)
  const git = opening.use(await startGitServer({ root: join(folder, 'git'), host: cluster.host }))
  const http = opening.use(await openHttpScene({ tunnels: { domain: 'tunnels.test', port: 0 } }))
  const runtime = opening.use(await startRuntime({ cluster, http, argo, name: 'prod', namespace }))
  const opened = opening.move()

  return {
    cluster,
    argo,
    http,
    proxyKube: runtime.kube,
    proxyUrl: runtime.url,
    runtimeToken: runtime.token,
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
    until: (name, isDone) => untilApplication({ cluster, argo }, name, isDone),
    app: (words, key) => {
      const [command = '', ...rest] = words.split(' ')
      return windlass(http, ['gitops', 'app', command, 'prod', ...rest, '--runtime-url', runtime.url], key)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
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
