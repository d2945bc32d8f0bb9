/** Observes builds during a run, and detects the end of the run: the time at which nothing changes anymore. */
import { defined, systemClock as clock } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import type { ApiClient } from '@windlass/client'
import type { Build } from '@windlass/protocol'
import { LOOK_MS } from '../history/check-builds.ts'
import type { Harm, History } from '../history/history.ts'
import { listBuilds } from './collect.ts'

/** A run without changes for this long is stuck. */
const STUCK_MS = 90_000

export interface Watch {
  readonly sightings: History['sightings'][number][]
  readonly looks: number[]
  /** The latest list. */
  builds: readonly Build[]
}

/** Lists all builds twice a second. A failed request (the server is down) is not an observation. */
export async function watchBuilds(client: ApiClient, watch: Watch, signal: AbortSignal): Promise<void> {
  const { sightings, looks } = watch
  const last = new Map<string, string>()
  while (!signal.aborted) {
    const at = clock.now()
    const builds = await listBuilds(client, 30_000).catch(() => undefined)
    if (builds !== undefined) {
      watch.builds = builds
      looks.push(at)
    }
    for (const { id, status, reason } of builds ?? []) {
      const state = `${status} ${reason}`
      const isQuiet = last.get(id) === state && isFinalBuild(status)
      last.set(id, state)
      if (!isQuiet) sightings.push({ at, buildId: id, status, ...defined({ reason }) })
    }
    await clock.sleep(LOOK_MS, signal).catch(() => undefined)
  }
}

/**
 * Waits until every build is final in a list of `watchBuilds` that was asked for from now on, or until nothing changes anymore. The checker then reports the
 * builds that are not final.
 */
export async function settle(watch: Watch): Promise<void> {
  const from = clock.now()
  const progress = watchProgress()
  for (;;) {
    const isCurrent = (watch.looks.at(-1) ?? 0) >= from
    if (isCurrent && watch.builds.every(({ status }) => isFinalBuild(status))) return
    const states = watch.builds.map(({ id, status, reason, attempt }) => `${id} ${status} ${reason} ${attempt}`).join()
    if (progress.isStuck(states)) return
    await clock.sleep(LOOK_MS)
  }
}

/** Returns the remaining objects when no more of them are removed. */
export async function remains(
  attempts: () => Promise<readonly { buildId: string; attempt: number }[]>,
): Promise<History['leftovers']> {
  const progress = watchProgress()
  let left = await attempts()
  while (left.length > 0 && !progress.isStuck(left.length)) {
    await clock.sleep(200)
    left = await attempts()
  }
  return left.map(({ buildId, attempt }) => ({ buildId, object: `fake engine of attempt ${attempt}` }))
}

/** Detects that the values passed to it have not changed for a long time. */
function watchProgress(): { isStuck(state: unknown): boolean } {
  let last: unknown
  let changedAt = clock.monotonic()
  return {
    isStuck(state) {
      if (state !== last) changedAt = clock.monotonic()
      last = state
      return clock.monotonic() - changedAt > STUCK_MS
    },
  }
}

const TICK_MS = 100

/**
 * Records the periods in which this process, which runs all fake engines, got too little CPU: its delays within one engine timeout add up to a
 * quarter of the timeout. Delays below a tick do not count, because they keep no engine from its heartbeats.
 */
export async function watchPauses(harms: Harm[], { deadMs, signal }: { deadMs: number; signal: AbortSignal }): Promise<void> {
  let late: { readonly at: number; readonly ms: number }[] = []
  while (!signal.aborted) {
    const from = clock.now()
    await clock.sleep(TICK_MS, signal).catch(() => undefined)
    const at = clock.now()
    late = [...late, { at, ms: at - from - TICK_MS }].filter((tick) => tick.at > at - deadMs && tick.ms > TICK_MS)
    if (late.reduce((sum, { ms }) => sum + ms, 0) < deadMs / 4) continue
    harms.push({ what: 'the driver hardly ran', from: from - deadMs, to: at + deadMs })
    late = []
  }
}
