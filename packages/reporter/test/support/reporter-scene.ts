/** A cluster that serves applications and rollouts, a server, a line between reporter and server that can fail, and reporters. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { gunzipSync } from 'node:zlib'
import { nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { openKube, type Kube, type KubeObject } from '@windlass/kube'
import { createClient } from '@windlass/protocol'
import { startCluster, type Cluster } from '../../../../e2e/support/cluster.ts'
import { argoApplication, type Shown } from '../../../server/test/support/fakes/application-reporter.ts'
import { argoRollout, type ShownRollout } from '../../../server/test/support/fakes/reported-objects.ts'
import { openHttpScene, type HttpScene } from '../../../server/test/support/http-scene.ts'
import { startReporter, type Reporter, type ReporterOptions } from '../../src/index.ts'
import { serveReportedKinds } from './argo-crds.ts'

/** What a reporter sent. */
export interface SentBody {
  readonly data: readonly { readonly actualManifest: string }[]
  readonly fullState?: { readonly id: string; readonly listed: readonly object[]; readonly objects?: readonly object[] }
}

export interface Line {
  readonly url: string
  readonly bodies: SentBody[]
  /** Answers the next bodies with this status instead of passing them on. */
  fail(times: number, status: number): void
  close(): void
}

/** Passes bodies on to the server. A reporter that stops leaves calls unfinished. */
async function openLine(target: string): Promise<Line> {
  const bodies: SentBody[] = []
  const failing = { times: 0, status: 500 }
  const answer = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const body = Buffer.concat((await request.toArray()) as Buffer[])
    if (failing.times > 0) {
      failing.times -= 1
      response.writeHead(failing.status).end('failed')
      return
    }
    // The reporter sends JSON in gzip, and the test looks at it as the wire has it.
    bodies.push(JSON.parse(gunzipSync(body).toString()) as SentBody)
    const { method, headers } = request
    const passed = http.request(new URL(request.url ?? '', target), { method, headers, agent: false })
    // Also after the head of the response.
    passed.on('error', () => response.destroy())
    passed.end(body)
    const [answered] = (await once(passed, 'response')) as [http.IncomingMessage]
    response.writeHead(answered.statusCode ?? 0, answered.headers)
    await pipeline(answered, response)
  }
  const server = http.createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    bodies,
    fail: (times, status) => Object.assign(failing, { times, status }),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

export interface ReporterScene extends AsyncDisposable {
  readonly cluster: Cluster
  readonly http: HttpScene
  readonly kube: Kube
  readonly line: Line
  readonly namespace: string
  readonly token: string
  readonly tokenFile: string
  start(options?: Partial<ReporterOptions>): Reporter
  /** Creates an application in the namespace. */
  create(name: string, shown?: Shown): Promise<void>
  /** Changes the status of an application. */
  change(name: string, status: object): Promise<void>
  remove(name: string): Promise<void>
  /** Creates a rollout in the namespace, or changes it. */
  putRollout(name: string, shown: ShownRollout): Promise<void>
  removeRollout(name: string): Promise<void>
  /** Names of the rollouts that the server shows, with their phase and step. */
  shownRollouts(): Promise<Record<string, string>>
  /** Names of the applications that the server shows, with their health. */
  shown(): Promise<Record<string, string>>
}

/** Opens a scene with an empty namespace of its own. */
export async function openReporterScene(namespace: string): Promise<ReporterScene> {
  const cluster = await startCluster()
  await serveReportedKinds(cluster)
  await cluster.kube.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }, [])
  const scene = await openHttpScene()
  const { token } = await scene.admin.gitopsRuntimes.createToken('prod')
  const line = await openLine(scene.server.url)
  const folder = mkdtempSync(join(tmpdir(), 'windlass-reporter-'))
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, `${token}\n`)
  const kube = openKube({ access: cluster.access, log: silentLog })
  const reporters: Reporter[] = []
  return {
    cluster,
    http: scene,
    kube,
    line,
    namespace,
    token,
    tokenFile,
    start(options = {}) {
      const reporter = startReporter({
        kube,
        client: createClient({ url: line.url, transport: nodeTransport() }),
        tokenFile,
        namespaces: [namespace],
        shard: 0,
        shards: 1,
        version: '1.2.3',
        clock: systemClock,
        log: silentLog,
        ...options,
      })
      reporters.push(reporter)
      return reporter
    },
    async create(name, shown = {}) {
      const { apiVersion, kind, spec, status } = argoApplication(name, shown) as KubeObject
      await kube.create({ apiVersion, kind, metadata: { name, namespace }, spec, status })
    },
    change: async (name, status) => void (await kube.patch({ kind: 'Application', namespace, name }, { status })),
    remove: async (name) => void (await kube.delete({ kind: 'Application', namespace, name })),
    async putRollout(name, shown) {
      const { apiVersion, kind, spec, status } = argoRollout(name, shown) as KubeObject
      const ref = { kind: 'Rollout', namespace, name } as const
      if ((await kube.find(ref)) === undefined)
        await kube.create({ apiVersion, kind, metadata: { name, namespace }, spec, status })
      else await kube.patch(ref, { status })
    },
    removeRollout: async (name) => void (await kube.delete({ kind: 'Rollout', namespace, name })),
    async shownRollouts() {
      const { items } = await scene.admin.reportedRollouts.list({ query: { namespace } })
      return Object.fromEntries(items.map(({ name, phase, currentStep }) => [name, `${phase} ${currentStep}`]))
    },
    async shown() {
      const { items } = await scene.admin.applications.list({ query: { namespace, limit: 500 } })
      return Object.fromEntries(items.map(({ name, health }) => [name, health]))
    },
    async [Symbol.asyncDispose]() {
      for (const reporter of reporters) await reporter.close()
      line.close()
      kube.close()
      await scene[Symbol.asyncDispose]()
      await cluster.clear({ kind: 'Application', namespace })
      await cluster.clear({ kind: 'Rollout', namespace })
      await cluster.kubectl('delete', 'namespace', namespace, '--wait=false')
      rmSync(folder, { recursive: true })
    },
  }
}
