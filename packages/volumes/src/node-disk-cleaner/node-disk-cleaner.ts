/** Keeps the file system of the disks of a node from filling up: checks them every minute, and serves metrics and probes. */
import { attempt, probe, serveProbes, ticks } from '@windlass/kit'
import type { NodeDiskCleanerConfig } from './config.ts'
import { runCycle, type CycleOptions } from './cycle.ts'
import { readFolders, readUse } from './folders.ts'
import { metricsText } from './metrics.ts'

export interface NodeDiskCleaner {
  /** Port of metrics and probes. */
  readonly port: number
  /** Resolves when the signal is aborted and all work has ended. */
  readonly ended: Promise<void>
}

/** Number of missed checks in a row after which the cleaner is not ready. */
const MISSED = 3

/** Starts the cleaner. Resolves when it listens. */
export async function startNodeDiskCleaner(options: CycleOptions): Promise<NodeDiskCleaner> {
  const { config, clock, log } = options
  const counts = { removed: 0, lookedAt: clock.monotonic() }
  const probes = await serveProbes(config.PORT, async (path) => {
    const isLate = clock.monotonic() - counts.lookedAt > MISSED * Math.max(config.INTERVAL_SECONDS, 60) * 1000
    if (path === '/livez') return probe(true, '')
    if (path === '/readyz') return probe(!isLate, 'the disks were not checked recently')
    return path === '/metrics' ? { status: 200, body: await readMetrics(config, counts.removed) } : undefined
  })
  const ended = loop(options, counts).finally(() => probes[Symbol.asyncDispose]())
  log.info({ node: config.NODE_NAME, folder: config.PARENT_DIR, dryRun: config.DRY_RUN }, 'node disk cleaner started')
  return { port: probes.port, ended }
}

async function loop(options: CycleOptions, counts: { removed: number; lookedAt: number }): Promise<void> {
  const { config, clock, log, signal, isPaused } = options
  let loggedAt = -Infinity
  for await (const _ of ticks(config.INTERVAL_SECONDS * 1000, { clock, signal, jitter: 0.1 })) {
    await attempt(log, 'check the disks', async () => {
      if (config.LOG_DF_SECONDS > 0 && clock.monotonic() - loggedAt >= config.LOG_DF_SECONDS * 1000) {
        log.info(await readUse(config.PARENT_DIR), 'use of the file system in percent')
        loggedAt = clock.monotonic()
      }
      if (isPaused?.() !== true) counts.removed += await runCycle(options)
      counts.lookedAt = clock.monotonic()
    })
  }
}

async function readMetrics(config: NodeDiskCleanerConfig, removed: number): Promise<string> {
  const [folders, use] = await Promise.all([readFolders(config.PARENT_DIR, config.DIR_PATTERN), readUse(config.PARENT_DIR)])
  return metricsText(config.NODE_NAME, { folders, use, removed })
}
