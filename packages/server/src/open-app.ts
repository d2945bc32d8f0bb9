/** Assembles the server: store, vault, logs, loops. */
import { mkdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { newId, silentLog, systemClock } from '@windlass/kit'
import type { App } from './app.ts'
import { tunnelFacts } from './gitops/facts.ts'
import { releaseLoop } from './gitops/releases/run.ts'
import { openProvider } from './identity/oidc/provider.ts'
import { electLoop } from './builds/schedule/elect.ts'
import { fillLoop } from './warm/fill.ts'
import { openHearing } from './builds/engine/hearing.ts'
import { noteFirstStart } from './builds/lifecycle/ends/missed-ends.ts'
import { sweepLoop } from './builds/lifecycle/ends/sweep.ts'
import { DocumentPool } from './documents/document-pool.ts'
import { openNetworks } from './outbound/networks.ts'
import { openReaders, READER_LIMITS } from './feed/readers.ts'
import { auditedStore } from './audit/record.ts'
import { compactLoop } from './logs/objects/compact.ts'
import { openLogStore } from './logs/log-store.ts'
import { openLogStorage } from './logs/objects/storage.ts'
import { requireOwnLogs } from './logs/objects/storage-mark.ts'
import { metricsPage } from './measure.ts'
import { openMetrics } from './metrics.ts'
import { retainLoop } from './retention.ts'
import { refreshRuntimes } from './runtimes/layers.ts'
import { keysLoop } from './secrets/master-keys.ts'
import { outboxLoop } from './outbox/send.ts'
import { cronLoop } from './triggers/cron/fire.ts'
import { renewLoop } from './contexts/git-login.ts'
import { Renewals } from './contexts/renewals.ts'
import { pollLoop } from './triggers/poll/poll.ts'
import { deliverLoop } from './triggers/deliveries/process.ts'
import { sampleLoop } from './health/samples.ts'
import { openVault } from './secrets/vault.ts'
import { ensureAccount } from './store/account/accounts.ts'
import { openStore } from './store/store.ts'
import type { Retention, Timings, ServerOptions } from './settings.ts'
import { traceBuild } from './traces/trace-build.ts'
import { openTraces } from './traces/traces.ts'

export const TIMINGS: Timings = {
  heartbeatMs: 10_000,
  suspectMs: 30_000,
  deadMs: 45_000,
  agentLeaseMs: 45_000,
  taskLeaseMs: 30_000,
  sweepMs: 1000,
  engineSilentMs: 180_000,
  terminatingMs: 900_000,
  terminatingSilentMs: 300_000,
  taskBackoffMs: 1000,
  retainMs: 600_000,
  pollMs: 300_000,
}

export const RETENTION: Retention = {
  buildDays: 180,
  logDays: 90,
  taskDays: 7,
  gitlabJobDays: 30,
  idempotencyHours: 24,
  unusedLogHours: 24,
  auditDays: 400,
}

export const MIN_FREE_SHARE = 0.05

export const LOG_FLUSH_MS = 1000

const ACCOUNT_NAME = 'default'

export interface OpenApp {
  readonly app: App
  /** Ends held calls and loops. */
  stop(): void
  /** Stops, waits for the loops and for renewals of tokens, at most 20 s, and closes the store. Call it when no HTTP call is in progress. */
  close(): Promise<void>
}

export interface AppOptions extends ServerOptions {
  /** If false, the caller runs elections, sweeps and retention. */
  readonly startsLoops?: boolean
  /** See `StoreOptions`. */
  readonly time?: 'process' | undefined
}

/** Opens everything except HTTP. `advertisedUrl` is called when it is needed, because it may depend on the port. Throws the same faults as `startServer`. */
export async function openApp(options: AppOptions, advertisedUrl: () => string): Promise<OpenApp> {
  const dataDir = resolve(options.dataDir)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const own = options.clock ?? systemClock
  const log = options.log ?? silentLog
  const metrics = openMetrics()
  const store = await openStore({
    dataDir,
    databaseUrl: options.databaseUrl,
    databaseLimits: options.databaseLimits,
    clock: own,
    log,
    metrics,
    time: options.time,
  })
  const { clock } = store
  const closing = new AbortController()
  const traces = await openTraces(options.environment ?? {}).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  const documentPool = new DocumentPool(clock, log, options.documentLimits, options.documentProgram)
  try {
    const vault = await openVault(store, {
      dataDir,
      masterKey: options.masterKey,
      masterKeyFile: options.masterKeyFile,
    })
    const { logsUrl, environment, s3Limits } = options
    // Signatures need the time of this machine, not that of the database.
    const storage = await openLogStorage({ dataDir, logsUrl, environment, s3Limits, clock: own })
    await requireOwnLogs(store, clock, storage)
    const accountId = await store.write((tx) =>
      ensureAccount(tx, { id: newId(clock.now()), name: ACCOUNT_NAME, now: clock.now() }),
    )
    // A new version of the server may have different base layers.
    await store.write((tx) => refreshRuntimes(tx, accountId))
    await store.write((tx) => noteFirstStart(tx, clock.now()))
    const timings = { ...TIMINGS, ...options.timings }
    const app: App = {
      store: auditedStore(store, { accountId, clock }),
      vault,
      readers: openReaders({ ...READER_LIMITS, ...options.readerLimits }),
      logs: openLogStore(store, storage, clock),
      metrics,
      traces,
      metricsPage: () => page(),
      clock,
      log,
      timings,
      retention: { ...RETENTION, ...options.retention },
      outbound: { hosts: [], networks: openNetworks(options.outboundNetworks ?? []) },
      documentHosts: options.documentHosts ?? [],
      documentPool,
      minFreeShare: options.minFreeShare ?? MIN_FREE_SHARE,
      logLimits: options.logLimits ?? {},
      logFlushMs: options.logFlushMs ?? LOG_FLUSH_MS,
      dataDir,
      accountId,
      accountName: ACCOUNT_NAME,
      advertisedUrl,
      bootstrapCode: options.bootstrapCode,
      hearing: openHearing(clock, timings),
      renewals: new Renewals(clock),
      tunnels: options.tunnels === undefined ? undefined : tunnelFacts(options.tunnels),
      oidc: options.oidc === undefined ? undefined : openProvider(options.oidc, clock),
      configuredUrl: options.advertisedUrl?.replace(/\/+$/, ''),
      hasPage: options.hasPage ?? true,
      serverCa: options.caFile === undefined ? undefined : readFileSync(options.caFile, 'utf8'),
      closing: closing.signal,
    }
    if (traces !== undefined) metrics.buildEnded = (buildId) => void traceBuild(app, traces, buildId)
    const page = metricsPage(app)
    const loops =
      options.startsLoops === false
        ? []
        : [
            electLoop(app),
            sweepLoop(app),
            retainLoop(app),
            compactLoop(app),
            fillLoop(app),
            keysLoop(app),
            deliverLoop(app),
            cronLoop(app),
            outboxLoop(app),
            pollLoop(app),
            sampleLoop(app),
            renewLoop(app),
            releaseLoop(app),
          ]
    return {
      app,
      stop: () => closing.abort(),
      async close() {
        closing.abort()
        await documentPool.close()
        await Promise.all([app.renewals.close(), ...loops])
        await traces?.close()
        await store.close()
      },
    }
  } catch (error) {
    await store.close()
    throw error
  }
}
