/** Ends releases, and tries failed ones again. */
import { fault, newId } from '@windlass/kit'
import type { Release } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { noteSubject } from '../../audit/call.ts'
import { lockAccount } from '../../store/account/accounts.ts'
import { listLiveReleases, lockRelease, RELEASE_TOPIC, updateRelease } from '../../store/runtimes/releases.ts'
import type { ReleaseRow } from '../../store/schema/schema.ts'
import type { Tx } from '../../store/store.ts'
import { toRelease, unknownRelease } from './show-releases.ts'
import { readRelease, type StoredStep } from './stored-release.ts'

interface Termination {
  readonly why: string
  readonly now: number
}

/** Lets a release end: at once if it has not started, and otherwise when what an app-proxy has begun is finished. Does nothing if it has ended. */
export async function markTermination(
  tx: Tx,
  { id, account_id: accountId }: ReleaseRow,
  termination: Termination,
): Promise<void> {
  // The row of a list may be old.
  const row = await lockRelease(tx, accountId, id)
  if (row === undefined || row.ended_at !== null) return
  if (row.status === 'queued' && row.started_at === null) return endWaiting(tx, row, termination)
  const { state } = readRelease(row)
  await updateRelease(tx, id, {
    status: 'terminating',
    state: JSON.stringify({ ...state, termination: state.termination ?? termination.why }),
  })
  tx.wake(RELEASE_TOPIC)
}

async function endWaiting(tx: Tx, row: ReleaseRow, { why, now }: Termination): Promise<void> {
  const { state } = readRelease(row)
  const steps = state.steps.map((step): StoredStep => ({ ...step, state: step.state === 'pending' ? 'skipped' : step.state }))
  const ended = JSON.stringify({ ...state, steps, termination: why, why })
  await updateRelease(tx, row.id, { status: 'terminated', state: ended, ended_at: now })
}

/** Terminates a release. Does nothing if it has ended. Throws `not-found`. */
export async function terminateRelease(app: App, id: string, by: string): Promise<Release> {
  return app.store.write(async (tx) => {
    const row = (await lockRelease(tx, app.accountId, id)) ?? unknownRelease(id)
    noteSubject(`release ${row.number} of product ${row.product}`)
    await markTermination(tx, row, { why: `${by} has terminated it.`, now: app.clock.now() })
    return toRelease((await lockRelease(tx, app.accountId, id)) ?? row)
  })
}

/**
 * Tries the promotions of a release again that have failed or were terminated, and goes on. Does nothing if it runs already. Throws `not-found`, and `conflict` if it has succeeded or a newer release of the
 * product exists.
 */
export async function retryRelease(app: App, id: string): Promise<Release> {
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const row = (await lockRelease(tx, app.accountId, id)) ?? unknownRelease(id)
    noteSubject(`release ${row.number} of product ${row.product}`)
    if (row.status === 'succeeded')
      throw fault('conflict', {
        message: `The release ${row.number} of the product "${row.product}" has succeeded.`,
        hint: 'Start a new one.',
      })
    if (row.ended_at === null) return toRelease(row)
    const newer = (await listLiveReleases(tx.query, app.accountId, row.product)).find(({ number }) => number > row.number)
    if (newer !== undefined)
      throw fault('conflict', {
        message: `The newer release ${newer.number} of the product "${row.product}" has not ended.`,
        hint: `Wait for it, or terminate it with \`windlass gitops release terminate ${newer.id}\`.`,
      })
    const now = app.clock.now()
    const { state } = readRelease(row)
    const { termination: _termination, why: _why, ...rest } = state
    const again = JSON.stringify({
      ...rest,
      builds: succeededOf(state.builds),
      steps: state.steps.map((step) => toAgain(step, now)),
    })
    await updateRelease(tx, id, { status: 'queued', state: again, ended_at: null })
    tx.wake(RELEASE_TOPIC)
    return toRelease({ ...row, status: 'queued', state: again, ended_at: null })
  })
}

/** Returns a step as it was before its failure. Its failed promotions are other changes: the old ones may have been reverted meanwhile. */
function toAgain(step: StoredStep, now: number): StoredStep {
  if (step.state === 'succeeded') return step
  const { why: _why, ...rest } = step
  const promotions = step.promotions.flatMap((promotion): StoredStep['promotions'] => {
    if (promotion.state === 'succeeded') return [promotion]
    const {
      change: _change,
      revision: _r,
      isNew: _n,
      pull: _p,
      why: _w,
      errand: _e,
      checked: _c,
      syncingAt: _s,
      ...kept
    } = promotion
    // What could not be promoted at all is decided again.
    if (promotion.from === '' || promotion.target.repo === '') return []
    return [{ ...kept, change: newId(now), state: 'pending', builds: succeededOf(promotion.builds), changedAt: now }]
  })
  return { ...rest, state: 'pending', isPlanned: false, promotions, builds: succeededOf(step.builds) }
}

function succeededOf(builds: StoredStep['builds']): StoredStep['builds'] {
  return builds.filter(({ state, hook }) => state === 'succeeded' && hook !== 'onFail')
}
