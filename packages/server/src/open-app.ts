/** Puts the server together: store, vault, logs, loops. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { newId, silentLog, systemClock } from '@windlass/kit'
import type { App } from './app.ts'
import { electLoop } from './builds/elect.ts'
import { fillLoop } from './warm/fill.ts'
import { sweepLoop } from './builds/sweep.ts'
import { diskObjects } from './logs/objects.ts'
import { openLogStore } from './logs/log-store.ts'
import { openMetrics } from './metrics.ts'
import { retainLoop } from './retention.ts'
import { refreshRuntimes } from './runtimes/layers.ts'
import { openVault } from './secrets/vault.ts'
import type { Retention, ServerOptions, Timings } from './server.ts'
import { ensureAccount } from './store/accounts.ts'
import { openStore } from './store/store.ts'

export const TIMINGS: Timings = {
  heartbeatMs: 10_000,
  suspectMs: 30_000,
  deadMs: 45_000,
  agentLeaseMs: 45_000,
  taskLeaseMs: 30_000,
  sweepMs: 1000,
  terminatingMs: 900_000,
  terminatingSilentMs: 300_000,
  taskBackoffMs: 1000,
}

export const RETENTION: Retention = { buildDays: 180, logDays: 90, taskDays: 7, idempotencyHours: 24 }

export const MIN_FREE_SHARE = 0.05

const ACCOUNT_NAME = 'default'

export interface OpenApp {
  readonly app: App
  /** Ends held calls and loops. */
  stop(): void
  /** Stops, waits for the loops, closes the store: call it when no HTTP call is left. */
  close(): Promise<void>
}

export interface AppOptions extends ServerOptions {
  /** False leaves elections, sweeps and retention to the caller. */
  readonly startsLoops?: boolean
}

/** Opens everything but HTTP. `advertisedUrl` is asked when it is needed: it may depend on the port. Throws as `startServer` says. */
export async function openApp(options: AppOptions, advertisedUrl: () => string): Promise<OpenApp> {
  const dataDir = resolve(options.dataDir)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const clock = options.clock ?? systemClock
  const log = options.log ?? silentLog
  const metrics = openMetrics()
  const store = await openStore({ dataDir, databaseUrl: options.databaseUrl, clock, log, metrics })
  const closing = new AbortController()
  try {
    const vault = await openVault(store, { dataDir, masterKey: options.masterKey })
    const accountId = await store.write((tx) =>
      ensureAccount(tx, { id: newId(clock.now()), name: ACCOUNT_NAME, now: clock.now() }),
    )
    // Another version of the server may come with other base layers.
    await store.write((tx) => refreshRuntimes(tx, accountId))
    const app: App = {
      store,
      vault,
      logs: openLogStore(store, diskObjects(join(dataDir, 'logs')), clock),
      metrics,
      clock,
      log,
      timings: { ...TIMINGS, ...options.timings },
      retention: { ...RETENTION, ...options.retention },
      documentHosts: options.documentHosts ?? [],
      minFreeShare: options.minFreeShare ?? MIN_FREE_SHARE,
      logLimits: options.logLimits ?? {},
      dataDir,
      accountId,
      accountName: ACCOUNT_NAME,
      advertisedUrl,
      serverCa: options.tls?.caFile === undefined ? undefined : readFileSync(options.tls.caFile, 'utf8'),
      closing: closing.signal,
    }
    const loops = options.startsLoops === false ? [] : [electLoop(app), sweepLoop(app), retainLoop(app), fillLoop(app)]
    return {
      app,
      stop: () => closing.abort(),
      async close() {
        closing.abort()
        await Promise.all(loops)
        await store.close()
      },
    }
  } catch (error) {
    await store.close()
    throw error
  }
}
