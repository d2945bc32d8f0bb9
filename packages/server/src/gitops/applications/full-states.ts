/**
 * Full states of reporters, chunk by chunk. An application has the mark of one full state only, so of two full states that are in progress at once for the same applications, one must be given
 * up: a mark of a full state that is never complete would end applications that exist.
 */
import { shardOf, type EventReporter, type FullState } from '@windlass/protocol'
import type { App } from '../../app.ts'
import {
  deleteLeftReporters,
  endApplications,
  insertReporters,
  listReporters,
  listUnlisted,
  resetOtherDivisions,
  saveReporter,
} from '../../store/runtimes/applications.ts'
import type { GitopsReporterRow } from '../../store/schema/schema.ts'
import { endObjects, listUnlistedObjects } from '../../store/runtimes/reported-objects.ts'
import type { Query, Tx } from '../../store/store.ts'

export interface Noted {
  readonly runtimeId: string
  readonly reporter: EventReporter
  readonly fullState: FullState | undefined
  readonly now: number
}

/** How far the full state of a reporter is. */
export interface Followed extends Noted {
  readonly progress: Progress
  /** The full state takes the chunk, so that its applications are marked. */
  readonly isAccepted: boolean
  readonly isComplete: boolean
  /** The reporters that are known before this report. */
  readonly known: readonly GitopsReporterRow[]
}

/** Decides, before anything is marked, whether the full state takes the chunk. */
export async function followReporter(query: Query, noted: Noted): Promise<Followed> {
  const { runtimeId, reporter, fullState, now } = noted
  const known = await listReporters(query, runtimeId)
  const before = known.find(({ shard }) => shard === reporter.shard)
  return { ...noted, ...continueFullState(before, { shards: reporter.shards, fullState, now }), known }
}

/** Notes that the reporter lives, and ends what its full state did not have once all chunks are stored. */
export async function noteReporter(app: App, tx: Tx, followed: Followed): Promise<void> {
  const { runtimeId, reporter, progress, isAccepted, isComplete, known, now } = followed
  const { shard, shards, version = '', isBlind = false } = reporter
  const before = known.find((row) => row.shard === shard)
  // The parts of another division overlap with this one.
  if (isAccepted) await resetOtherDivisions(tx, runtimeId, shards)
  if (isComplete) {
    const filter = { runtimeId, fullState: progress.full_state, until: progress.full_started_at }
    const unlisted = await listUnlisted(tx.query, filter)
    const own = unlisted.filter(({ namespace, name }) => shardOf(namespace, name, shards) === shard)
    const ids = own.map(({ id }) => id)
    await endApplications(tx, ids, { at: now, cause: 'unlisted' })
    await endUnlistedObjects(tx, followed)
    await deleteLeftReporters(tx, runtimeId, shards)
  }
  const common = { runtime_id: runtimeId, account_id: app.accountId, shards }
  const seen_at = isBlind && before !== undefined ? before.seen_at : now
  const full_at = isComplete ? now : (before?.full_at ?? null)
  const sight = { heard_at: now, is_blind: isBlind ? 1 : 0 } as const
  await saveReporter(tx, { ...common, ...progress, ...sight, shard, version, seen_at, full_at })
  // A part that never reports is silent since its existence is known.
  const heard = new Set([shard, ...known.map((row) => row.shard)])
  const unheard = Array.from({ length: shards }, (_, part) => part).filter((part) => !heard.has(part))
  const empty = { version: '', full_state: '', full_chunk: 0, full_started_at: 0, full_at: null, heard_at: null } as const
  await insertReporters(
    tx,
    unheard.map((part) => ({ ...common, ...empty, is_blind: 0, shard: part, seen_at: now })),
  )
}

/** Ends what the full state did not have of the kinds of which it has all. */
async function endUnlistedObjects(tx: Tx, { runtimeId, reporter, fullState, progress, now }: Followed): Promise<void> {
  const { kinds = [] } = fullState ?? {}
  if (kinds.length === 0) return
  const filter = { runtimeId, kinds, fullState: progress.full_state, until: progress.full_started_at }
  const unlisted = await listUnlistedObjects(tx.query, filter)
  const own = unlisted.filter(({ namespace, name }) => shardOf(namespace, name, reporter.shards) === reporter.shard)
  await endObjects(
    tx,
    own.map(({ id }) => id),
    now,
  )
}

type Progress = Pick<GitopsReporterRow, 'full_state' | 'full_chunk' | 'full_started_at'>

interface Chunk {
  readonly shards: number
  readonly fullState: FullState | undefined
  readonly now: number
}

/** Returns how far the full state is. A chunk that repeats, comes late, or whose predecessor is missing changes nothing. */
function continueFullState(
  before: (Progress & Pick<GitopsReporterRow, 'shards'>) | undefined,
  { shards, fullState, now }: Chunk,
): Pick<Followed, 'progress' | 'isAccepted' | 'isComplete'> {
  const { full_state = '', full_chunk = 0, full_started_at = 0 } = before ?? {}
  const same = { progress: { full_state, full_chunk, full_started_at }, isAccepted: false, isComplete: false }
  if (fullState === undefined) return same
  const { id, chunk, isLast: isComplete } = fullState
  const isOfSame = full_state === id && before?.shards === shards
  if (isOfSame ? chunk !== full_chunk + 1 : chunk !== 1) return same
  const started = isOfSame ? full_started_at : Math.min(fullState.startedAt, now)
  return { progress: { full_state: id, full_chunk: chunk, full_started_at: started }, isAccepted: true, isComplete }
}
