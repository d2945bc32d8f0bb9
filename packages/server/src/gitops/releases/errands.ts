/** Errands for the app-proxies of a runtime: a held call hands them out, and their first result counts. */
import { MAX_ERRANDS, type Errand, type ErrandClaim, type ErrandResult } from '@windlass/protocol'
import type { App } from '../../app.ts'
import {
  claimErrands,
  errandResultTopic,
  errandTopic,
  finishErrand,
  findErrand,
  nextErrandAt,
} from '../../store/runtimes/errands.ts'
import { RELEASE_TOPIC } from '../../store/runtimes/releases.ts'
import type { ErrandRow } from '../../store/schema/schema.ts'

/** Time for one errand, after which another app-proxy gets it. Milliseconds. */
export const ERRAND_LEASE_MS = 120_000

/** Returns errands of a runtime. If there are none, waits up to `waitMs` for one. */
export async function claimRuntimeErrands(
  app: App,
  runtimeId: string,
  { room, waitMs, signal }: ErrandClaim & { readonly signal: AbortSignal },
): Promise<Errand[]> {
  const { store, clock } = app
  const until = clock.monotonic() + waitMs
  using watch = store.watch(errandTopic(runtimeId))
  for (;;) {
    const dueMs = ((await nextErrandAt(store.query, runtimeId)) ?? Infinity) - clock.now()
    const rows = dueMs > 0 ? [] : await claimNow(app, runtimeId, Math.min(room, MAX_ERRANDS))
    const rest = until - clock.monotonic()
    if (rows.length > 0 || rest <= 0 || signal.aborted) return rows.map(toErrand)
    await watch.next(Math.min(rest, store.pollMs, Math.max(5, dueMs)), signal)
  }
}

async function claimNow({ store, clock }: App, runtimeId: string, room: number): Promise<ErrandRow[]> {
  return store.write((tx) => claimErrands(tx, { runtimeId, room, now: clock.now(), leaseMs: ERRAND_LEASE_MS }))
}

function toErrand({ id, work }: ErrandRow): Errand {
  return { id, leaseMs: ERRAND_LEASE_MS, work: JSON.parse(work) }
}

/** Stores a result. Returns false if the errand has one, was given up, or is one of another runtime. */
export async function takeErrandResult(
  app: App,
  runtimeId: string,
  { id, result }: { readonly id: string; readonly result: ErrandResult },
): Promise<boolean> {
  return app.store.write(async (tx) => {
    const errand = await findErrand(tx.query, runtimeId, id)
    if (errand === undefined || !(await finishErrand(tx, id, JSON.stringify(result)))) return false
    tx.wake(RELEASE_TOPIC)
    tx.wake(errandResultTopic(errand.release_id))
    return true
  })
}
