/** GitOps runtimes in a cluster: an app-proxy in this process, with an account of the cluster that has the rights of the chart and no others. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAppProxy } from '@windlass/app-proxy'
import { nodeTransport, proxyFrom, silentLog, systemClock } from '@windlass/kit'
import { listIfKnown, openKube, type Kube } from '@windlass/kube'
import { parse } from 'yaml'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import type { Cluster } from '../../support/cluster.ts'
import { eventually } from '../../support/eventually.ts'
import { KEYS } from '../../support/log-bucket.ts'
import { openRelay, type Relay } from './relay.ts'

/** Rights of the app-proxy, as the chart has them. */
const ROLES = join(import.meta.dirname, '../../../packages/app-proxy/rbac')
const ACCOUNT = 'app-proxy-of-tests'
/** Where a runtime without Argo CD would look for it. */
const NOWHERE = 'http://127.0.0.1:9'

export interface Runtime extends AsyncDisposable {
  /** Client with the rights of the app-proxy only. */
  readonly kube: Kube
  readonly url: string
  /** Token of the runtime at the server. */
  readonly token: string
  /** The way of the app-proxy to Argo CD. */
  readonly argo: Relay
  /** Replaces the token of Argo CD that the app-proxy has. */
  writeArgoToken(text: string): Promise<void>
}

/** The Secret with the token of the runtime and the random text, which `global.runtime.tokenSecret` of the chart can name. */
export const TOKEN_SECRET = 'runtime-token'
/** A second is a moment for a test, and long for the API server of the cluster. Milliseconds. */
const REPORTING = { checks: 1_000, clusters: 2_000, forges: 1_000 }

export interface RuntimeOptions {
  readonly cluster: Cluster
  readonly http: HttpScene
  /** Absent: a runtime that does not know the server of Argo CD. */
  readonly argo?: { readonly url: string; readonly token: string }
  readonly name: string
  readonly namespace: string
  /** True for a runtime in the cluster of the server. */
  readonly isHosted?: boolean
  readonly operatesWorkflows?: boolean
  /** A bucket with archived logs of workflows. */
  readonly logArchive?: { readonly url: string; readonly bucket: string }
  /** Name of the WorkflowTemplate that reports images. */
  readonly imageReportTemplate?: string
}

/** Starts the app-proxy of a runtime. At its end nothing of the runtime is left in the namespace. */
export async function startRuntime(options: RuntimeOptions): Promise<Runtime> {
  const {
    cluster,
    http,
    argo,
    name,
    namespace,
    isHosted = false,
    operatesWorkflows = false,
    imageReportTemplate,
    logArchive,
  } = options
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'windlass-runtime-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const { token } = await http.admin.gitopsRuntimes.createToken(name)
  const [tokenFile, argoTokenFile] = [join(folder, 'token'), join(folder, 'argo-token')]
  const [accessKeyFile, secretKeyFile] = [join(folder, 'access-key'), join(folder, 'secret-key')]
  await writeFile(tokenFile, token)
  await writeFile(argoTokenFile, argo?.token ?? '')
  await writeFile(accessKeyFile, KEYS.AWS_ACCESS_KEY_ID)
  await writeFile(secretKeyFile, KEYS.AWS_SECRET_ACCESS_KEY)
  const storeIv = 'the random text of this test'
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: TOKEN_SECRET, namespace } }
  await cluster.apply({ ...secret, stringData: { token, encryptionIV: storeIv } })
  opening.defer(async () => void (await cluster.kube.delete({ kind: 'Secret', namespace, name: TOKEN_SECRET })))
  const relay = opening.use(await openRelay(new URL(argo?.url ?? NOWHERE)))
  const roles = operatesWorkflows ? ['role.yaml', 'workflows-role.yaml'] : ['role.yaml']
  const kube = openKube({ access: await accountOf(cluster, namespace, roles), log: silentLog })
  opening.defer(() => kube.close())
  opening.defer(() => clearRuntime(cluster, namespace))
  const proxy = opening.use(
    await startAppProxy({
      port: 0,
      server: { url: http.server.url, transport: nodeTransport({ connectMs: 5_000 }) },
      runtime: name,
      accountId: http.server.app.accountId,
      tokenFile,
      tokenSecret: TOKEN_SECRET,
      storeIv,
      reporting: REPORTING,
      origins: ['https://ci.example.com'],
      kube,
      namespace,
      argo: argo && { server: { url: relay.url, transport: nodeTransport({ connectMs: 5_000 }) }, tokenFile: argoTokenFile },
      isHosted,
      operatesWorkflows,
      logArchive: logArchive && { ...logArchive, region: 'us-east-1', prefix: name, accessKeyFile, secretKeyFile },
      imageReports: imageReportTemplate === undefined ? undefined : { template: imageReportTemplate, heartbeatMs: 500 },
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
  const writeArgoToken = (text: string): Promise<void> => writeFile(argoTokenFile, text)
  return { kube, url: proxy.url, token, argo: relay, writeArgoToken, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Returns the access of an account with the rights of the app-proxy. */
async function accountOf(cluster: Cluster, namespace: string, roles: readonly string[]): Promise<Cluster['access']> {
  // The files are ours.
  const files = await Promise.all(
    roles.map(async (role) => parse(await readFile(join(ROLES, role), 'utf8')) as { rules: object[] }),
  )
  const rules = files.flatMap((file) => file.rules)
  const rbac = 'rbac.authorization.k8s.io'
  const metadata = { name: ACCOUNT, namespace }
  await cluster.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: ACCOUNT },
      subjects: [{ kind: 'ServiceAccount', name: ACCOUNT, namespace }],
    },
  )
  const { token } = await cluster.kube.issueToken({ kind: 'ServiceAccount', namespace, name: ACCOUNT }, 3_600)
  const { server, ca, insecure } = cluster.access
  return { server, ca, insecure, namespace, token: () => token }
}

/** Removes what an app-proxy keeps in its namespace, and the applications there without their objects. */
export async function clearRuntime({ kube, clear }: Cluster, namespace: string): Promise<void> {
  await eventually('no application is left', async () => {
    const found = await listIfKnown(kube, { kind: 'Application', namespace, content: 'metadata' })
    const all = found.map(({ metadata }) => metadata.name)
    // This one would create the others again.
    for (const name of all.toSorted((one, other) => Number(other.endsWith('-isc')) - Number(one.endsWith('-isc')))) {
      const ref = { kind: 'Application', namespace, name } as const
      await kube.patch(ref, { metadata: { finalizers: null } }).catch(() => undefined)
      await kube.delete(ref)
    }
    return all.length === 0 ? true : undefined
  })
  const integration = 'io.codefresh.integration-type=git'
  await clear({ kind: 'ConfigMap', namespace, labels: integration })
  await clear({ kind: 'Secret', namespace, labels: integration })
  await clear({ kind: 'Secret', namespace, labels: 'windlass.io/managed-cluster' })
}
