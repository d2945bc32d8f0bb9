/** Takes samples of the load of runtimes and of the disk. */
import { attempt, ticks } from '@windlass/kit'
import type { App } from '../app.ts'
import { fullestDisk } from '../builds/schedule/disk-space.ts'
import { listShownRuntimes } from '../runtimes/show-runtimes.ts'
import { deleteOldSamples, insertSamples } from '../store/samples.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Interval of the samples of runtimes, which are kept for 24 hours: at most 289 for each. */
const RUNTIME_MS = 5 * MINUTE_MS
const RUNTIMES_KEPT_MS = 24 * HOUR_MS
/** Samples of the disk are taken once an hour and kept for 14 days. */
const DISK_KEPT_MS = 14 * 24 * HOUR_MS

/** Takes samples until the server closes. */
export async function sampleLoop(app: App): Promise<void> {
  let last: number | undefined
  for await (const _ of ticks(MINUTE_MS, { clock: app.clock, signal: app.closing, jitter: 0.2 })) {
    const at = startOf(app.clock.now(), RUNTIME_MS)
    if (at !== last) await attempt(app.log, 'samples', () => takeSamples(app))
    last = at
  }
}

/** Takes the samples of the current five minutes and of the current hour, unless a server has taken them. */
export async function takeSamples(app: App): Promise<void> {
  const { accountId, clock, store } = app
  const now = clock.now()
  const runtimes = (await listShownRuntimes(app)).map(({ name, running, waiting, warm }) => ({
    account_id: accountId,
    at: startOf(now, RUNTIME_MS),
    runtime: name,
    running,
    waiting,
    pairs: warm?.ready ?? 0,
  }))
  const { totalBytes, freeBytes } = await fullestDisk(app)
  const disk = { account_id: accountId, at: startOf(now, HOUR_MS), used_bytes: totalBytes - freeBytes, total_bytes: totalBytes }
  await store.write(async (tx) => {
    await insertSamples(tx, { runtimes, disk })
    await deleteOldSamples(tx, accountId, { runtimes: now - RUNTIMES_KEPT_MS, disk: now - DISK_KEPT_MS })
  })
}

function startOf(at: number, interval: number): number {
  return Math.floor(at / interval) * interval
}
