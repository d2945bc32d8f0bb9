/**
 * Stores what a reporter reports of rollouts, their ReplicaSets and workflows (docs/development/adr/0159-reported-rollouts-and-workflows.md), by the rules of applications: a report can repeat, come late
 * and come in parts, and what is stored only moves forward.
 */
import { newId } from '@windlass/kit'
import { parseJson } from '@windlass/kit/json'
import { MAX_OBJECT_HISTORY, type EventsAnswer, type FullState, type ReportedKind } from '@windlass/protocol'
import type { App } from '../../app.ts'
import {
  countLiveObjects,
  countObjects,
  deleteLongestEnded,
  findNamedObjects,
  findStoredObjects,
  noteListedObjects,
  saveReportedObject,
  type ObjectPlace,
} from '../../store/runtimes/reported-objects.ts'
import type { ReportedObjectRow } from '../../store/schema/schema.ts'
import type { Tx } from '../../store/store.ts'
import { isLate } from '../applications/order.ts'
import type { ReadObject } from './facts.ts'
import type { ObjectEvent } from './read-object.ts'

/** Objects of a kind that are stored of a runtime, also those that are gone. Of those the one that has been gone for longest makes room. */
const MAX_OBJECTS = 5_000

interface Applied {
  readonly runtimeId: string
  readonly events: readonly ObjectEvent[]
  /** Id of the full state that has the events; undefined if there is none, or it does not take this chunk. */
  readonly marked: string | undefined
}

/** Applies events in their order. Returns how many of them changed something. */
export async function applyObjects(app: App, tx: Tx, { runtimeId, events, marked }: Applied): Promise<number> {
  const known = byKey(await findStoredObjects(tx.query, runtimeId, placesOf(events)))
  const now = app.clock.now()
  const counts = new Map<ReportedKind, number>()
  const leftOut: string[] = []
  const listed: string[] = []
  let taken = 0
  for (const given of events) {
    // A clock that is ahead must not make later reports late.
    const event = { ...given, at: Math.min(given.at, now) }
    const before = known.get(keyOf(event))
    if (before !== undefined) listed.push(before.id)
    if (before !== undefined && isLate(toKnown(before), event)) continue
    if (before === undefined) {
      // The end of an object of which nothing is known changes nothing.
      if (event.state === undefined) continue
      if (!(await hasRoom(tx, { runtimeId, kind: event.kind, counts }))) {
        leftOut.push(keyOf(event))
        continue
      }
    }
    const row = changed(before ?? newRow(app, runtimeId, event), event, now)
    await saveReportedObject(tx, row)
    known.set(keyOf(row), row)
    listed.push(row.id)
    taken += 1
  }
  // One line, because each report of a runtime without room has such objects.
  if (leftOut.length > 0)
    app.log.warn({ runtimeId, count: leftOut.length, first: leftOut[0] }, 'too many objects are stored; new ones are left out')
  // Also what came late: the full state has it.
  if (marked !== undefined) await noteListedObjects(tx, [...new Set(listed)], { fullState: marked, at: now })
  return taken
}

interface Listing {
  readonly runtimeId: string
  readonly fullState: FullState
  readonly marked: string | undefined
}

/** Notes the objects that a full state names. Returns those that are not stored in this version, new ones as far as there is room for them. */
export async function noteObjectNames(
  { clock }: Pick<App, 'clock'>,
  tx: Tx,
  { runtimeId, fullState, marked }: Listing,
): Promise<NonNullable<EventsAnswer['wantedObjects']>> {
  const { objects = [] } = fullState
  const known = byKey(await findNamedObjects(tx.query, runtimeId, placesOf(objects)))
  const there = objects.flatMap((one) => known.get(keyOf(one)) ?? [])
  if (marked !== undefined)
    await noteListedObjects(
      tx,
      there.map(({ id }) => id),
      { fullState: marked, at: clock.now() },
    )
  const room = new Map<ReportedKind, number>()
  const wanted: ObjectPlace[] = []
  for (const { kind, namespace, name, version } of objects) {
    const row = known.get(keyOf({ kind, namespace, name }))
    if (row === undefined) {
      const left = room.get(kind) ?? MAX_OBJECTS - (await countLiveObjects(tx.query, runtimeId, kind))
      room.set(kind, left - 1)
      if (left <= 0) continue
    } else if (row.end_cause === null && row.version === (version ?? row.version)) continue
    wanted.push({ kind, namespace, name })
  }
  return wanted
}

/** Returns each place once. */
function placesOf(objects: readonly ObjectPlace[]): ObjectPlace[] {
  return [...byKey(objects).values()]
}

function byKey<T extends ObjectPlace>(rows: readonly T[]): Map<string, T> {
  return new Map(rows.map((row) => [keyOf(row), row]))
}

interface Room {
  readonly runtimeId: string
  readonly kind: ReportedKind
  /** Stored objects by kind, as far as they were counted. */
  readonly counts: Map<ReportedKind, number>
}

/** Makes room for one more object. Returns false if there is none. */
async function hasRoom(tx: Tx, { runtimeId, kind, counts }: Room): Promise<boolean> {
  const count = counts.get(kind) ?? (await countObjects(tx.query, runtimeId, kind))
  const isFull = count >= MAX_OBJECTS
  if (isFull && !(await deleteLongestEnded(tx, runtimeId, kind))) {
    counts.set(kind, count)
    return false
  }
  counts.set(kind, isFull ? count : count + 1)
  return true
}

/** Returns the row after an event. An object that is gone keeps its last state. */
function changed(before: ReportedObjectRow, { state, uid, version, createdAt, at }: ObjectEvent, now: number): ReportedObjectRow {
  // Another object has the name now.
  const isOther = uid !== undefined && before.uid !== '' && uid !== before.uid
  const isSamePhase = state === undefined || (state.phase === before.phase && before.end_cause === null && !isOther)
  return {
    ...before,
    // A deletion can lack what the state before it had.
    uid: uid ?? before.uid,
    version: version ?? before.version,
    created_at: createdAt ?? before.created_at,
    ...(state !== undefined && {
      part_of: state.partOf,
      phase: state.phase,
      facts: JSON.stringify(state.facts),
      history: historyOf(isOther ? '[]' : before.history, state.moment, at),
    }),
    state_since: isSamePhase ? before.state_since : now,
    listed_at: now,
    reported_at: at,
    ended_at: state === undefined ? now : null,
    end_cause: state === undefined ? 'deleted' : null,
  }
}

/** What of a state begins an entry of the history. Messages and the progress of a workflow change more often than people look. */
interface Moment {
  readonly phase: string
  readonly currentStep?: number | undefined
  readonly weight?: number | undefined
  readonly revision?: number | undefined
}

/** Adds a state to the history, unless its newest entry has the same. */
function historyOf(before: string, moment: ReadObject['moment'], at: number): string {
  if (moment === undefined) return '[]'
  // This server has written it.
  const history = parseJson(before) as readonly Moment[]
  const [last] = history
  if (last !== undefined && signOf(last) === signOf(moment)) return before
  return JSON.stringify([{ ...moment, at }, ...history].slice(0, MAX_OBJECT_HISTORY))
}

function signOf({ phase, currentStep, weight, revision }: Moment): string {
  return [phase, currentStep, weight, revision].join(' ')
}

function newRow(app: App, runtimeId: string, { kind, namespace, name, at }: ObjectEvent): ReportedObjectRow {
  const now = app.clock.now()
  return {
    id: newId(now),
    account_id: app.accountId,
    runtime_id: runtimeId,
    kind,
    namespace,
    name,
    uid: '',
    version: '',
    part_of: '',
    phase: '',
    facts: '{}',
    history: '[]',
    full_state: '',
    listed_at: now,
    state_since: now,
    reported_at: at,
    created_at: now,
    ended_at: null,
    end_cause: null,
  }
}

function toKnown(row: ReportedObjectRow): Parameters<typeof isLate>[0] {
  const { uid, version, reported_at: reportedAt, created_at: createdAt, end_cause: end } = row
  return { uid, version, reportedAt, createdAt, end: end ?? undefined }
}

function keyOf({ kind, namespace, name }: ObjectPlace): string {
  return `${kind}/${namespace}/${name}`
}
