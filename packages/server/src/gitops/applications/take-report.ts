/**
 * Stores what a reporter reports (docs/development/adr/0130-reported-applications.md). A report can repeat, come late and come in parts: what is stored only moves forward, and a
 * deletion is kept for a day, so that a late state does not bring the application back.
 */
import { setImmediate } from 'node:timers/promises'
import { fault, newId, sha256 } from '@windlass/kit'
import { APPLICATION_HEALTHS, type EventsAnswer, type FullState } from '@windlass/protocol'
import type { App } from '../../app.ts'
import {
  countApplications,
  findCompared,
  insertApplications,
  lockReportedRuntime,
  noteListed,
  updateApplication,
  type ComparedApplication,
} from '../../store/runtimes/applications.ts'
import type { ApplicationRow } from '../../store/schema/schema.ts'
import type { Query, Tx } from '../../store/store.ts'
import { RELEASE_TOPIC } from '../../store/runtimes/releases.ts'
import { applyObjects, noteObjectNames } from '../objects/take-objects.ts'
import { readDeployments } from './deployments.ts'
import { readApplication } from './facts.ts'
import { followReporter, noteReporter } from './full-states.ts'
import { isLate } from './order.ts'
import type { ApplicationEvent, EventReport } from './read-events.ts'

/** Topic that is woken when applications change. */
export const APPLICATIONS_TOPIC = 'applications'

/** Applications of a runtime that are stored, also those that are gone. The token of a runtime must not take the room of the others. */
const MAX_APPLICATIONS = 5_000
/** Deletions of applications that were never reported, which are stored to refuse late states. */
const MAX_NEVER_SEEN = 100

/** Stores a report of a runtime. Throws `unauthenticated` if the runtime was deleted in the meantime. */
export async function takeEventReport(app: App, runtimeId: string, report: EventReport): Promise<EventsAnswer> {
  const { events, objects, others, reporter, fullState } = report
  // Outside of the transaction, which holds the only connection of SQLite.
  const read: ReadEvent[] = []
  for (const event of events) {
    read.push(readEvent(event, app.clock.now()))
    await setImmediate()
  }
  return app.store.write(async (tx) => {
    if (!(await lockReportedRuntime(tx, runtimeId))) throw fault('unauthenticated')
    const followed = await followReporter(tx.query, { runtimeId, reporter, fullState, now: app.clock.now() })
    const marked = followed.isAccepted ? fullState?.id : undefined
    const taken = await applyEvents(app, tx, { runtimeId, events: read, marked })
    const wanted = fullState === undefined ? [] : await noteNames(tx, { runtimeId, fullState, marked })
    const takenObjects = await applyObjects(app, tx, { runtimeId, events: objects, marked })
    const wantedObjects = fullState === undefined ? [] : await noteObjectNames(app, tx, { runtimeId, fullState, marked })
    await noteReporter(app, tx, followed)
    if (taken > 0) for (const topic of [APPLICATIONS_TOPIC, RELEASE_TOPIC]) tx.wake(topic)
    return {
      taken: taken + takenObjects,
      ignored: events.length + objects.length - taken - takenObjects + others,
      wanted,
      ...(wantedObjects.length > 0 && { wantedObjects }),
    }
  })
}

/** What a report says about an application. Without columns it is gone. */
interface ReadEvent {
  readonly event: ApplicationEvent
  readonly columns: Columns | undefined
}

type Columns = Pick<
  ApplicationRow,
  | 'project'
  | 'health'
  | 'health_rank'
  | 'sync'
  | 'product'
  | 'component'
  | 'entity'
  | 'cluster'
  | 'cluster_namespace'
  | 'facts'
  | 'resources'
  | 'digest'
>

function readEvent(given: ApplicationEvent, now: number): ReadEvent {
  // A clock that is ahead must not make later reports late.
  const event = { ...given, at: Math.min(given.at, now) }
  if (event.manifest === undefined) return { event, columns: undefined }
  const { project, health, sync, product, component, entity, ...more } = readApplication(event.manifest, event.errors)
  const { name, server, namespace } = more.facts.destination
  const shown = {
    project,
    health,
    health_rank: APPLICATION_HEALTHS.indexOf(health),
    sync,
    product,
    component,
    entity,
    cluster: name ?? server ?? '',
    cluster_namespace: namespace ?? '',
    facts: JSON.stringify(more.facts),
    resources: JSON.stringify(more.resources),
  }
  const compared = [...Object.values(shown), event.manifest.status.history]
  return { event, columns: { ...shown, digest: sha256(JSON.stringify(compared)) } }
}

interface Applied {
  readonly runtimeId: string
  readonly events: readonly ReadEvent[]
  /** Id of the full state that has the events; undefined if there is none, or it does not take this chunk. */
  readonly marked: string | undefined
}

/** Applies events in their order. Returns how many of them changed something. */
async function applyEvents(app: App, tx: Tx, { runtimeId, events, marked }: Applied): Promise<number> {
  const names = [...new Set(events.map(({ event }) => event.name))]
  const known = new Map((await findCompared(tx.query, runtimeId, names)).map((row) => [keyOf(row), row]))
  const listed: string[] = []
  const now = app.clock.now()
  let room: Room | undefined
  let taken = 0
  for (const read of events) {
    const before = known.get(keyOf(read.event))
    if (before !== undefined) listed.push(before.id)
    if (before !== undefined && isLate(toKnown(before), read.event)) continue
    const changes = changesOf(read, before, now)
    if (before === undefined) {
      room ??= await findRoom(tx.query, runtimeId)
      const isGone = read.columns === undefined
      if (room.all <= 0 || (isGone && room.neverSeen <= 0)) {
        // Whoever reports such deletions reports many of them.
        if (!isGone)
          app.log.warn({ runtimeId, application: read.event.name }, 'too many applications are stored; a new one is left out')
        continue
      }
      room = { all: room.all - 1, neverSeen: room.neverSeen - (isGone ? 1 : 0) }
      const row = newRow(app, { runtimeId, read, changes })
      await insertApplications(tx, [row])
      known.set(keyOf(row), row)
      listed.push(row.id)
    } else {
      await updateApplication(tx, before.id, changes)
      known.set(keyOf(read.event), { ...before, ...changes })
    }
    taken += 1
  }
  // Also what came late: the full state has it.
  if (marked !== undefined) await noteListed(tx, [...new Set(listed)], marked)
  return taken
}

/** New rows that fit. */
interface Room {
  readonly all: number
  readonly neverSeen: number
}

async function findRoom(query: Query, runtimeId: string): Promise<Room> {
  const { all, neverSeen } = await countApplications(query, runtimeId)
  return { all: MAX_APPLICATIONS - all, neverSeen: MAX_NEVER_SEEN - neverSeen }
}

interface Named {
  readonly runtimeId: string
  readonly fullState: FullState
  readonly marked: string | undefined
}

/** Notes the applications that a full state names. Returns those that are not stored in this version. */
async function noteNames(tx: Tx, { runtimeId, fullState, marked }: Named): Promise<EventsAnswer['wanted']> {
  const { listed = [] } = fullState
  const rows = await findCompared(tx.query, runtimeId, [...new Set(listed.map(({ name }) => name))])
  const known = new Map(rows.map((row) => [keyOf(row), row]))
  const there = listed.flatMap((one) => known.get(keyOf(one)) ?? [])
  const ids = there.map((row) => row.id)
  if (marked !== undefined) await noteListed(tx, ids, marked)
  return listed
    .filter((one) => {
      const row = known.get(keyOf(one))
      return row === undefined || row.end_cause !== null || row.version !== (one.version ?? row.version)
    })
    .map(({ namespace, name }) => ({ namespace, name }))
}

/** Columns that a report changes. An application that is gone keeps its last state. */
type Changes = Partial<Columns> &
  Pick<ApplicationRow, 'state_since' | 'reported_at' | 'ended_at' | 'end_cause'> &
  Partial<ApplicationRow>

function changesOf({ event, columns }: ReadEvent, before: ComparedApplication | undefined, now: number): Changes {
  const isSameState =
    columns !== undefined && before?.end_cause === null && before.health === columns.health && before.sync === columns.sync
  return {
    // A deletion can lack what the state before it had.
    ...(event.uid !== undefined && { uid: event.uid }),
    ...(event.version !== undefined && { version: event.version }),
    ...(event.createdAt !== undefined && { created_at: event.createdAt }),
    // A report that only has a newer version, such as after a comparison, leaves the long columns as they are.
    ...(columns?.digest !== before?.digest && columns),
    ...(columns?.digest !== before?.digest && deploymentsOf(event, before, columns)),
    state_since: isSameState ? before.state_since : now,
    reported_at: event.at,
    ended_at: columns === undefined ? now : null,
    end_cause: columns === undefined ? 'deleted' : null,
  }
}

function deploymentsOf(
  { manifest }: ApplicationEvent,
  before: ComparedApplication | undefined,
  columns: Columns | undefined,
): Pick<ApplicationRow, 'deployments'> | undefined {
  if (manifest === undefined || columns === undefined) return undefined
  return { deployments: JSON.stringify(readDeployments(manifest, before?.deployments, columns.health)) }
}

interface NewRow {
  readonly runtimeId: string
  readonly read: ReadEvent
  readonly changes: Changes
}

/** The row of an application that is gone has no state, and exists only to refuse late reports. */
const NO_STATE: Columns = {
  project: '',
  health: 'unknown',
  health_rank: APPLICATION_HEALTHS.indexOf('unknown'),
  sync: 'unknown',
  product: '',
  component: '',
  entity: '',
  cluster: '',
  cluster_namespace: '',
  facts: '{}',
  resources: '[]',
  digest: '',
}

function newRow(app: App, { runtimeId, read, changes }: NewRow): ApplicationRow {
  const now = app.clock.now()
  return {
    ...NO_STATE,
    id: newId(now),
    account_id: app.accountId,
    runtime_id: runtimeId,
    namespace: read.event.namespace,
    name: read.event.name,
    uid: '',
    version: '',
    deployments: '[]',
    full_state: '',
    promoted_version: '',
    created_at: now,
    ...changes,
  }
}

function toKnown(row: ComparedApplication): Parameters<typeof isLate>[0] {
  const { uid, version, reported_at: reportedAt, created_at: createdAt, end_cause: end } = row
  return { uid, version, reportedAt, createdAt, end: end ?? undefined }
}

function keyOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`
}
