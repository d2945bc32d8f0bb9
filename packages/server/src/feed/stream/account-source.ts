/** The topic of the account: changes of its lists and counts, as far as the caller may see them. */
import { defined } from '@windlass/kit'
import type { AccountChange, AccountCounts, Right, Scope } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { mayDecide } from '../../builds/list/list-approvals.ts'
import { isAllowed, mayDo, type Actor } from '../../identity/actor.ts'
import { followAccount, type AccountChanges, type Change } from './account-changes.ts'
import { readRuntimeAccess } from '../../runtimes/access.ts'
import { findRuntime } from '../../store/runtimes/runtimes.ts'
import { NO_PLACE } from '../../store/places.ts'
import type { PlaceCounts, SharedCounts } from './account-reader.ts'
import type { AccountPlace } from './cursor.ts'
import { UNTIL_WOKEN, type Send, type Source } from './source.ts'

/** Key of the source, and the topic that wakes it. */
export const ACCOUNT_KEY = 'account'

/** Changes of one turn. */
const PAGE = 200

/** What a caller needs to see a noun. */
const RIGHTS_OF = {
  build: { right: 'see-builds', scope: 'build:read' },
  approval: { right: 'see-builds', scope: 'build:read' },
  runtime: { right: 'see-runners', scope: 'runtime:read' },
  agent: { right: 'see-runners', scope: 'agent:read' },
  delivery: { right: 'see-pipelines', scope: 'pipeline:read' },
  'gitlab-job': { right: 'see-gitlab-jobs', scope: 'gitlab-job:read' },
  applications: { right: 'see-gitops', scope: 'gitops:read' },
} as const satisfies Record<string, { right: Right; scope: Scope }>

export interface AccountSource extends Source, Disposable {
  /** Resolves when changes from now on are sent. Must be called before `next`. */
  ready(): Promise<void>
  /** How far all changes were sent. */
  readonly place: () => AccountPlace | undefined
}

interface AccountOptions {
  readonly actor: Actor
  /** Undefined: only what changes from now on. */
  readonly cursor: AccountPlace | undefined
  readonly onChange: () => void
}

export function openAccountSource(app: App, { actor, cursor, onChange }: AccountOptions): AccountSource {
  const key = ACCOUNT_KEY
  const follower = followAccount(app, onChange)
  const { changes } = follower
  let number: number | undefined
  let place = cursor
  let counts = ''

  /** Continues with the latest change. */
  async function skip(send: Send): Promise<void> {
    number = changes.last
    place = placeOf(changes)
    await send('reset', { topic: key })
  }

  /** Returns false for a runtime that the caller may not use. */
  async function maySee({ change }: Change): Promise<boolean> {
    if (change.noun !== 'runtime') return true
    const { query } = app.store
    const row = await findRuntime(query, app.accountId, change.item.id)
    return row === undefined || (await readRuntimeAccess(app, query, actor)).allows(row)
  }

  async function sendCounts(send: Send): Promise<void> {
    const own = sumCounts(changes, actor)
    const json = JSON.stringify(own)
    if (json === counts) return
    counts = json
    await send('counts', { topic: key, counts: own })
  }

  return {
    key,
    // The follower reads the database for all streams together.
    wakes: [ACCOUNT_KEY],
    restMs: 0,
    position: () => undefined,
    place: () => place,
    async ready() {
      await follower.ready()
      number = cursor === undefined ? changes.last : changes.numberAt(cursor)
      if (cursor === undefined) place = placeOf(changes)
    },
    async next(send) {
      const upTo = placeOf(changes)
      const found = number === undefined ? undefined : changes.after(number)
      if (found === undefined) {
        await skip(send)
        return 'more'
      }
      for (const one of found.slice(0, PAGE)) {
        ;({ number } = one)
        // Other changes of the same read may follow.
        place = { at: one.at - 1, loop: changes.id }
        const change = (await maySee(one)) ? showChange(one, actor) : undefined
        if (change !== undefined) await send('changed', { topic: key, change })
      }
      if (found.length > PAGE) return 'more'
      place = upTo
      await sendCounts(send)
      return UNTIL_WOKEN
    },
    [Symbol.dispose]: () => follower[Symbol.dispose](),
  }
}

function placeOf({ readAt, id }: AccountChanges): AccountPlace {
  return { at: readAt, loop: id }
}

/** Returns what the caller may see of a change; undefined for nothing. */
function showChange({ change, place = NO_PLACE }: Change, actor: Actor): AccountChange | undefined {
  const noun = change.noun === 'gone' ? change.of : change.noun
  const needed = RIGHTS_OF[noun]
  if (!mayDo(actor, needed, place)) return undefined
  if (change.noun === 'approval')
    return {
      ...change,
      item: { ...change.item, may: change.item.decision === undefined && mayDecide(actor, place) },
    }
  if (change.noun !== 'build' || isAllowed(actor, needed.right) || change.item.waiting === undefined) return change
  // The caller may not see all builds that hold the limit.
  const { holders: _holders, ...waiting } = change.item.waiting
  return { ...change, item: { ...change.item, waiting } }
}

/** Adds the counts of what the caller may see. */
function sumCounts(
  { counts: all, shared }: { readonly counts: readonly PlaceCounts[]; readonly shared: SharedCounts },
  actor: Actor,
): AccountCounts {
  const builds: AccountCounts['builds'] = {}
  let approvals = 0
  for (const { place, counts } of all) {
    if (!mayDo(actor, RIGHTS_OF.build, place)) continue
    for (const [status, count] of Object.entries(counts.builds) as [keyof typeof builds, number][])
      builds[status] = (builds[status] ?? 0) + count
    approvals += counts.approvals
  }
  const { gitlabJobs, applications } = shared
  return {
    builds,
    approvals,
    ...(mayDo(actor, RIGHTS_OF['gitlab-job'], NO_PLACE) && defined({ gitlabJobs })),
    ...(mayDo(actor, RIGHTS_OF.applications, NO_PLACE) && defined({ applications })),
  }
}
