/** Tells the control plane how the runtime is and which clusters its Argo CD knows, with the token of the runtime. */
import { randomUUID } from 'node:crypto'
import { statusCalls } from '@windlass/client/app-proxy'
import { attempt, isFault, ticks, type Clock, type Logger } from '@windlass/kit'
import { APP_PROXY_ALIVE_MS, MAX_CLUSTER_CHUNK, type Client, type ClusterState, type RuntimeReport } from '@windlass/protocol'
import type { Checks } from './checks.ts'

/** How often the checks are made. Milliseconds. */
const CHECK_MS = 10_000
const CLUSTERS_MS = 60_000
const TIMEOUT_MS = 10_000
/** A server of an earlier version is asked again after this time. Milliseconds. */
const OLD_SERVER_MS = 300_000

export interface ReportOptions {
  readonly checks: Checks
  readonly clusters: (signal: AbortSignal) => Promise<readonly ClusterState[]>
  /** Clusters in one report; 0: as many as a report may have. */
  readonly chunkSize: number
  /** Of the control plane, without a token. */
  readonly client: Client
  readonly runtimeToken: () => string
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  /** Times between two rounds, for tests. Milliseconds. */
  readonly everyMs?: { readonly checks: number; readonly clusters: number } | undefined
}

/** What was found last, and when the control plane last took it, epoch milliseconds; 0 for never. */
export interface Reported {
  report: RuntimeReport | undefined
  statusAt: number
  clusters: number
  clustersAt: number
}

/** Reports until the signal is aborted. Notes in `reported` what the control plane took. */
export async function reportLoop(options: ReportOptions, reported: Reported): Promise<void> {
  await Promise.all([reportStatus(options, reported), reportClusters(options, reported)])
}

async function reportStatus(options: ReportOptions, reported: Reported): Promise<void> {
  const { checks, client, runtimeToken, clock, log, signal, everyMs } = options
  let sent = { text: '', at: -Infinity }
  let notBefore = -Infinity
  for await (const _ of ticks(everyMs?.checks ?? CHECK_MS, { clock, signal })) {
    if (clock.monotonic() < notBefore) continue
    await attempt(log, 'status of the runtime', async () => {
      const report = await checks.read(signal)
      reported.report = report
      const text = JSON.stringify(report)
      if (text === sent.text && clock.monotonic() - sent.at < APP_PROXY_ALIVE_MS - CHECK_MS) return
      const isTaken = await send(log, () =>
        statusCalls(client.withToken(runtimeToken())).status(report, { signal, timeoutMs: TIMEOUT_MS }),
      )
      if (!isTaken) notBefore = clock.monotonic() + OLD_SERVER_MS
      sent = { text, at: clock.monotonic() }
      if (isTaken) reported.statusAt = clock.now()
    })
  }
}

async function reportClusters(options: ReportOptions, reported: Reported): Promise<void> {
  const { clusters, client, chunkSize, runtimeToken, clock, log, signal, everyMs } = options
  const size = chunkSize === 0 ? MAX_CLUSTER_CHUNK : Math.min(chunkSize, MAX_CLUSTER_CHUNK)
  let notBefore = -Infinity
  for await (const _ of ticks(everyMs?.clusters ?? CLUSTERS_MS, { clock, signal })) {
    if (clock.monotonic() < notBefore) continue
    await attempt(log, 'clusters of the runtime', async () => {
      const startedAt = clock.monotonic()
      const id = randomUUID()
      const all = await clusters(signal)
      reported.clusters = all.length
      for (let at = 0; at < all.length || at === 0; at += size) {
        const chunk = {
          id,
          isLast: at + size >= all.length,
          ageMs: Math.round(clock.monotonic() - startedAt),
          clusters: all.slice(at, at + size),
        }
        const isTaken = await send(log, () =>
          statusCalls(client.withToken(runtimeToken())).clusters(chunk, { signal, timeoutMs: TIMEOUT_MS }),
        )
        if (!isTaken) {
          notBefore = clock.monotonic() + OLD_SERVER_MS
          return
        }
      }
      reported.clustersAt = clock.now()
    })
  }
}

/** Returns false if the server is of an earlier version, which does not take reports. */
async function send(log: Logger, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (!isFault(error, 'not-found', 'not-supported')) throw error
    log.info('the server does not take reports of the state of runtimes: it is of an earlier version')
    return false
  }
}
