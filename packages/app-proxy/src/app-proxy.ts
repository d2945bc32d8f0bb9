/**
 * The app-proxy of a GitOps runtime or a Runner: a service in the cluster that acts for users behind the firewall. It asks the control plane for their rights, keeps their Git
 * tokens encrypted in the namespace of the runtime, lists what their forge has for them, and commits in their name. Git data does not pass the control plane.
 */
import { join } from 'node:path'
import { attempt, fault, readNamedFile, ticks, type Clock, type Logger } from '@windlass/kit'
import { createClient } from '@windlass/protocol'
import { openAccess } from './access/access.ts'
import { openAudit } from './audit/audit.ts'
import { openCallEnds } from './audit/call-ends.ts'
import { openApplications } from './argo/applications.ts'
import { NO_COMPARISONS, openComparisons } from './argo/comparisons.ts'
import { removeLeftovers, requireWorkFolder } from './commit/leftovers.ts'
import { openUserCommits } from './commit/user-commits.ts'
import { openForgeCaller } from './forge/call-forge.ts'
import { openForgeHosts } from './forge/hosts.ts'
import { openHttp } from './http/http-server.ts'
import { PATH_PREFIX } from './http/route.ts'
import { errandLoop } from './promotions/errands.ts'
import { openRuntimeForges } from './promotions/runtime-forges.ts'
import { CallCounts, serveMetrics } from './metrics.ts'
import type { AppProxyOptions } from './options.ts'
import { openRoutes } from './routes.ts'
import { readRuntimeToken, watchRuntimeToken } from './runtime-token.ts'
import { openGitTokens } from './store/git-tokens.ts'
import { openIntegrations } from './store/integrations.ts'
import { deriveStoreKey, openKeyRing } from './store/keys.ts'
import type { Reported } from './status/report-loop.ts'
import { reportRuntime } from './status/report-runtime.ts'

/** Maximum time for calls in progress when the process stops. Milliseconds. */
const DRAIN_MS = 25_000
/** How often folders of commits that were killed are looked for. Milliseconds. */
const LEFTOVERS_MS = 3_600_000
/** Bytes that a commit may fetch. */
const MAX_FETCH_BYTES = 536_870_912

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
  const servesGitops = options.servesGitops !== false
  const hosts = openForgeHosts({
    mayUseLoopback: options.mayUseLoopback,
    mayUseServices: options.isHosted !== true,
    resolve: options.resolve,
  })
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
  const comparisons = servesGitops ? openComparisons({ applications, log, signal: closing.signal }) : NO_COMPARISONS
  const runtimeForges = openRuntimeForges({ integrations, tokens, forges })
  const access = openAccess({ client, runtime, accountId, runtimeToken: () => runtimeToken, clock })
  // Several runtimes may share the folder.
  const folder = join(workFolder, `windlass-call-ends-${runtime}`)
  const ends = openCallEnds({ client, runtimeToken: () => runtimeToken, folder, clock, log })
  const audit = openAudit({ client, runtime, runtimeToken: () => runtimeToken, access, ends, clock, log })
  const counts = new CallCounts()
  const reported: Reported = { report: undefined, statusAt: 0, clusters: 0, clustersAt: 0 }
  const metrics =
    options.metricsPort === undefined
      ? undefined
      : await serveMetrics(options.metricsPort, { counts, reported: servesGitops ? reported : undefined })
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
    routes: openRoutes(options, { client, integrations, tokens, forges, hosts, commits, applications, comparisons }),
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
