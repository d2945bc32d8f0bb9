/**
 * Builds that a server of an earlier version ends while both versions run. Such a server stores the end, but does not report it to forges, people and
 * triggers, and records no statistics. A server of this version does so afterwards.
 */
import { isFinalBuild } from '@windlass/plan'
import type { App } from '../../../app.ts'
import { findMeta, insertMeta } from '../../../store/account/meta.ts'
import { listUnreportedEnds, updateBuild, type UnreportedEnd } from '../../../store/builds/builds.ts'
import type { Tx } from '../../../store/store.ts'
import { isTransient } from '../../../store/database/transient.ts'
import { announce, editBuild } from '../edit.ts'
import { recordStats } from '../record-stats.ts'

/** Key of `meta`: when a server that reports ends first opened the database. Epoch milliseconds. Builds that ended before are not reported. */
const FIRST_START = 'ends-reported-since'
/** Age from which the end of a build is not reported any more. Messages and deliveries are kept longer, so no end is reported twice. Milliseconds. */
const MAX_AGE_MS = 7 * 86_400_000
/** Builds that a sweep reports, and that are listed at once. */
const BATCH = 100

/** Stores since when ends are reported, unless it is stored. */
export async function noteFirstStart(tx: Tx, now: number): Promise<void> {
  await insertMeta(tx, FIRST_START, String(now))
}

/** Reports the ends of builds that were not reported, each once also if several servers do this. Throws if the store does not respond. */
export async function reportMissedEnds(app: App): Promise<void> {
  const { store, accountId, clock, log } = app
  const first = Number((await findMeta(store.query, FIRST_START)) ?? clock.now())
  const since = Math.max(first, clock.now() - MAX_AGE_MS)
  let [after, left]: [UnreportedEnd | undefined, number] = [undefined, BATCH]
  // Builds that cannot be reported stay in the list, and must not hide the later ones.
  while (left > 0 && !app.closing.aborted) {
    const page: UnreportedEnd[] = await listUnreportedEnds(store.query, { accountId, since, after, limit: BATCH })
    for (const { id } of page)
      await store
        .write((tx) => reportMissedEnd(tx, id, clock.now()))
        .then(
          (isReported) => void (left -= isReported ? 1 : 0),
          (error: unknown) => {
            if (isTransient(error)) throw error
            // A build that cannot be read must not block the others.
            log.error({ err: error, buildId: id }, 'cannot report the end of a build')
          },
        )
    after = page.at(-1)
    if (page.length < BATCH) return
  }
}

/** Returns false if there was nothing to report. */
async function reportMissedEnd(tx: Tx, id: string, now: number): Promise<boolean> {
  const edit = await editBuild(tx, id, now)
  if (edit === undefined || edit.build.end_reported !== null || !isFinalBuild(edit.build.status)) return false
  await updateBuild(tx, id, { end_reported: 1 })
  await recordStats(tx, edit.build)
  // Every end follows a state that is not final.
  await announce({ ...edit, before: { ...edit.before, status: 'running' } })
  return true
}
