/**
 * The app-proxy of a GitOps runtime or a Runner: a service in the cluster that acts for users behind the firewall. It asks the control plane for their rights, keeps their Git
 * tokens encrypted in the namespace of the runtime, lists what their forge has for them, and commits in their name. Git data does not pass the control plane.
 */
import { join } from 'node:path'
import {
  attempt,
  fault,
  readNamedFile,
  ticks,
  type Clock,
  type Logger,
  type ProxySettings,
  type ResolveName,
} from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { createClient, type ClientOptions } from '@windlass/protocol'
import { openAccess } from './access/access.ts'
import { openAudit } from './audit/audit.ts'
import { openCallEnds } from './audit/call-ends.ts'
import { openApplications, type Applications } from './argo/applications.ts'
import { openArgoApi } from './argo/api.ts'
import { NO_COMPARISONS, openComparisons } from './argo/comparisons.ts'
import { openLiveObjects } from './argo/live-objects.ts'
import { openRollouts } from './argo/rollouts.ts'
import { removeLeftovers, requireWorkFolder } from './commit/leftovers.ts'
import { openSlots } from './commit/slots.ts'
import { openUserCommits } from './commit/user-commits.ts'
import { openForgeCaller } from './forge/call-forge.ts'
import { openForgeHosts } from './forge/hosts.ts'
import { openForgeSession, type ForgeSession } from './forge/session.ts'
import { openGitops } from './gitops/gitops.ts'
import { graphqlRoute } from './graphql/graphql-route.ts'
import { applicationFileRoutes } from './http/application-file-routes.ts'
import { applicationRoutes, type ApplicationParts } from './http/application-routes.ts'
import { browseRoutes } from './http/browse-routes.ts'
import { commitRoutes, type CommitParts } from './http/commit-routes.ts'
import { gitopsRoutes } from './http/gitops-routes.ts'
import { hookRoutes } from './http/hook-routes.ts'
import { openHttp } from './http/http-server.ts'
import { imageReportRoute, type ImageReports } from './http/image-report-route.ts'
import { integrationRoutes, requireIntegration } from './http/integration-routes.ts'
import { PATH_PREFIX, route, type Route } from './http/route.ts'
import { serviceRoutes } from './http/service-routes.ts'
import { workflowRoutes } from './http/workflow-routes.ts'
import { errandLoop } from './promotions/errands.ts'
import { openRuntimeForges } from './promotions/runtime-forges.ts'
import { CallCounts, serveMetrics } from './metrics.ts'
import { readRuntimeToken, watchRuntimeToken } from './runtime-token.ts'
import type { SealingServer } from './sealed/certificate.ts'
import { openGitTokens, type GitToken } from './store/git-tokens.ts'
import { openIntegrations } from './store/integrations.ts'
import { deriveStoreKey, openKeyRing } from './store/keys.ts'
import type { Reported } from './status/report-loop.ts'
import { reportRuntime, type ReportTimes } from './status/report-runtime.ts'
import { openWorkflows } from './workflows/workflows.ts'

/** Commits in progress at once, each with its body in memory and a process of git. */
const COMMITS = { limit: 6, waiting: 30 }
/** Maximum time for calls in progress when the process stops. Milliseconds. */
const DRAIN_MS = 25_000
/** How often folders of commits that were killed are looked for. Milliseconds. */
const LEFTOVERS_MS = 3_600_000
/** Bytes that a commit may fetch. */
const MAX_FETCH_BYTES = 536_870_912

export interface AppProxyOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string | undefined
  /** 0: any free port. */
  readonly port: number
  /** The control plane. */
  readonly server: Omit<ClientOptions, 'token'>
  readonly runtime: string
  readonly accountId: string
  readonly tokenFile: string
  readonly previousTokenFile?: string | undefined
  /** Name of the Secret in the namespace of the runtime that has the token and `storeIv`, so that its loss is seen. Without it, only the file is looked at. */
  readonly tokenSecret?: string | undefined
  /** Random text that is a part of the key of Git tokens. */
  readonly storeIv: string
  /** Origins of pages that may call. */
  readonly origins: readonly string[]
  /** Path below which callers reach the app-proxy. Default: `/app-proxy`. */
  readonly pathPrefix?: string | undefined
  /** True to refuse calls that did not come by HTTPS. */
  readonly requireHttps?: boolean | undefined
  /** False for a Runner, which has no Argo CD and no shared configuration repository. Default: true. */
  readonly servesGitops?: boolean | undefined
  /** True for a runtime that is limited to its namespace. Default: false. */
  readonly isNamespaced?: boolean | undefined
  /** True for a runtime in the cluster of the server, with others beside it. Default: false. */
  readonly isHosted?: boolean | undefined
  readonly kube: Kube
  readonly namespace: string
  /** The server of Argo CD. Without it, the objects of applications are not shown. */
  readonly argo?: { readonly server: Omit<ClientOptions, 'token'>; readonly tokenFile: string } | undefined
  /** True if Argo Workflows runs in the namespace, and the account of the app-proxy may operate it. Default: false. */
  readonly operatesWorkflows?: boolean | undefined
  /** The controller of Sealed Secrets. Without it, logins of registries and Jira cannot be kept in Git. */
  readonly sealing?: SealingServer | undefined
  /** The workflow that reports images. Default: none. */
  readonly imageReports?: ImageReports | undefined
  /** PEM file with the certificate authorities of forges. */
  readonly forgeCaFile?: string | undefined
  readonly proxy: ProxySettings
  /** Resolves names of forges. Default: the operating system. */
  readonly resolve?: ResolveName | undefined
  /** True if forges may be at loopback addresses. False in a pod, whose loopback addresses are its own. */
  readonly mayUseLoopback: boolean
  /** Folder for temporary repositories. */
  readonly workFolder: string
  /** Bytes that a commit may fetch. Default: 512 MiB. */
  readonly maxFetchBytes?: number | undefined
  /** Port for `/metrics`. Default: none. */
  readonly metricsPort?: number | undefined
  /** Clusters in one report to the control plane; 0: as many as a report may have. Default: 50. */
  readonly clusterChunk?: number | undefined
  /** How often the state of the runtime is checked and reported. Default: checks each 10 s, clusters and forges each minute. */
  readonly reporting?: ReportTimes | undefined
  /** Time after a stop in which new calls are still accepted: Kubernetes leads some to a pod that it has already told to stop. Milliseconds. */
  readonly lingerMs: number
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly version: string
  readonly clock: Clock
  readonly log: Logger
}

export interface AppProxy extends AsyncDisposable {
  readonly port: number
  readonly url: string
  /** Ends the calls in progress and closes. Safe to call twice. */
  close(): Promise<void>
}

/** Starts to listen. Throws `config-invalid` if there is no token or a file cannot be read. */
export async function startAppProxy(options: AppProxyOptions): Promise<AppProxy> {
  const { clock, log, kube, namespace, runtime, accountId, storeIv, proxy, forgeCaFile, workFolder } = options
  await requireWorkFolder(workFolder)
  const closing = new AbortController()
  let runtimeToken = readRuntimeToken(options.tokenFile)
  const previous = options.previousTokenFile === undefined ? [] : [readRuntimeToken(options.previousTokenFile)]
  const ring = openKeyRing(
    deriveStoreKey(runtimeToken, storeIv),
    previous.map((token) => deriveStoreKey(token, storeIv)),
  )
  const tokens = openGitTokens({ kube, namespace, ring, log })
  const integrations = openIntegrations(kube, namespace)
  const isHosted = options.isHosted === true
  const servesGitops = options.servesGitops !== false
  const hosts = openForgeHosts({ mayUseLoopback: options.mayUseLoopback, mayUseServices: !isHosted, resolve: options.resolve })
  const forges = openForgeCaller({ hosts, proxy, ca: forgeCaFile === undefined ? undefined : readNamedFile(forgeCaFile) })
  const client = createClient(options.server)
  const commits = openUserCommits({
    clock,
    git: {
      folder: workFolder,
      path: options.environment['PATH'] ?? '/usr/bin:/bin',
      proxy,
      caFile: forgeCaFile,
      hosts,
      maxFetchBytes: options.maxFetchBytes ?? MAX_FETCH_BYTES,
    },
  })
  const applications = openApplications({ kube, namespace, clock })
  const comparisons = servesGitops ? openComparisons({ applications, log }) : NO_COMPARISONS
  const slots = openSlots(COMMITS)
  const runtimeForges = openRuntimeForges({ integrations, tokens, forges })
  const access = openAccess({ client, runtime, accountId, runtimeToken: () => runtimeToken, clock })
  // Several runtimes may share the folder.
  const folder = join(workFolder, `windlass-call-ends-${runtime}`)
  const ends = openCallEnds({ client, runtimeToken: () => runtimeToken, folder, clock, log })
  const audit = openAudit({ client, runtime, runtimeToken: () => runtimeToken, access, ends, clock, log })

  /** Opens the forge of an integration with the token of the caller. Throws `not-found` and `git-token-missing`. */
  async function open({
    params,
    caller,
    signal,
  }: Parameters<CommitParts['open']>[0]): Promise<{ readonly session: ForgeSession; readonly token: GitToken }> {
    const integration = await requireIntegration(integrations, params.name, caller)
    const token = await tokens.get(integration, caller.userId)
    return { session: openForgeSession({ caller: forges, integration, login: token, signal }), token }
  }

  function routesOfGitops(): Route[] {
    const place = { runtime, namespace, isHosted }
    const ofArgo = openArgo(options, applications)
    const parts = { client, kube, integrations, tokens, forges, hosts, commits, applications, comparisons, argo: ofArgo.argo }
    const isNamespaced = isHosted || options.isNamespaced === true
    const gitops = openGitops({ ...parts, place, isNamespaced, sealing: options.sealing, clock })
    const workflows = options.operatesWorkflows === true ? openWorkflows({ kube, namespace, clock }) : undefined
    const ofWorkflows = workflowRoutes({ workflows, namespace })
    return [
      ...gitopsRoutes({ ...gitops, slots }),
      ...serviceRoutes({ ...gitops, slots }),
      ...applicationRoutes({ applications, ...ofArgo, namespace }),
      ...applicationFileRoutes({ ...gitops, slots }),
      ...ofWorkflows,
      imageReportRoute({ reports: options.imageReports, workflows, routes: ofWorkflows, clock }),
    ]
  }

  const counts = new CallCounts()
  const reported: Reported = { report: undefined, statusAt: 0, clusters: 0, clustersAt: 0 }
  const metrics =
    options.metricsPort === undefined
      ? undefined
      : await serveMetrics(options.metricsPort, { counts, reported: servesGitops ? reported : undefined })
  const plainRoutes = [
    route('GET', '/version', {
      right: 'see-gitops',
      handle: async () => ({ version: options.version, runtime, platformHost: options.server.url }),
    }),
    ...integrationRoutes({ integrations, tokens, forges, hosts, clock }),
    ...browseRoutes(async (call) => (await open(call)).session),
    ...commitRoutes({ open, commits, comparisons, slots }),
    ...hookRoutes(async (call) => (await open(call)).session),
    ...(servesGitops ? routesOfGitops() : []),
  ]
  let isSealed = false
  let isStopping = false
  const server = openHttp({
    access,
    audit,
    counts,
    origins: options.origins,
    pathPrefix: (options.pathPrefix ?? PATH_PREFIX).replace(/\/$/, ''),
    requireHttps: options.requireHttps === true,
    log,
    closing: closing.signal,
    problem: () => (isStopping ? 'The app-proxy stops.' : undefined),
    routes: servesGitops ? [...plainRoutes, graphqlRoute(plainRoutes, { runtime, namespace, log })] : plainRoutes,
  })
  await server.listen({ host: options.host ?? '127.0.0.1', port: options.port }).catch((error: unknown) => {
    throw fault('config-invalid', { message: `The app-proxy cannot listen on port ${options.port}.` }, error)
  })
  const watching = watchRuntimeToken({ file: options.tokenFile, clock, log, signal: closing.signal }, async (token) => {
    if (token !== runtimeToken) {
      ring.rotate(deriveStoreKey(token, storeIv))
      runtimeToken = token
      isSealed = false
      log.info('the token of the runtime has changed')
    }
    // Repeated until it succeeds: a crash or an outage in between leaves records of both keys.
    if (!isSealed) isSealed = (await attempt(log, 'encrypt Git tokens again', () => tokens.reseal())) ?? false
  })
  const sweeping = sweep({ folder: workFolder, clock, log, signal: closing.signal })
  const doing = errandLoop({
    client,
    forges: runtimeForges,
    commits,
    comparisons,
    runtimeToken: () => runtimeToken,
    clock,
    log,
    signal: closing.signal,
  })
  const reporting = servesGitops
    ? reportRuntime(
        {
          ...options,
          client,
          applications,
          integrations,
          tokens,
          forges,
          place: { runtime, namespace },
          runtimeToken: () => runtimeToken,
          signal: closing.signal,
        },
        reported,
      )
    : undefined
  const address = server.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  log.info({ port, runtime }, 'app-proxy listens')
  const stop = async (): Promise<void> => {
    isStopping = true
    if (options.lingerMs > 0) await clock.sleep(options.lingerMs)
    const abort = (): void => closing.abort(new DOMException('the app-proxy stops', 'AbortError'))
    // A push that is cut may have an effect that its caller does not learn.
    const late = setTimeout(abort, DRAIN_MS)
    await server.close()
    clearTimeout(late)
    abort()
    await Promise.all([watching, sweeping, doing, reporting, ends.close()])
    await metrics?.[Symbol.asyncDispose]()
    forges.close()
  }
  let stopped: Promise<void> | undefined
  const close = (): Promise<void> => (stopped ??= stop())
  return { port, url: `http://${options.host ?? '127.0.0.1'}:${port}`, close, [Symbol.asyncDispose]: close }
}

/** What needs the server of Argo CD. Nothing if the app-proxy does not know it. */
function openArgo(
  { argo: known, namespace, clock }: Pick<AppProxyOptions, 'argo' | 'namespace' | 'clock'>,
  applications: Applications,
): Pick<ApplicationParts, 'argo' | 'rollouts'> {
  if (known === undefined) return { argo: undefined, rollouts: undefined }
  const options = { client: createClient(known.server), tokenFile: known.tokenFile, namespace, clock }
  const argo = openArgoApi(options)
  return { argo, rollouts: openRollouts({ argo, objects: openLiveObjects(options), applications }) }
}

interface Sweeping {
  readonly folder: string
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Deletes what killed commits have left, now and every hour, until the signal is aborted. */
async function sweep({ folder, clock, log, signal }: Sweeping): Promise<void> {
  for await (const _ of ticks(LEFTOVERS_MS, { clock, signal }))
    await attempt(log, 'folders of killed commits', () => removeLeftovers(folder, clock.now()))
}
