/** Why builds wait, for lists: the reason, the limit with the builds that hold it, and the place in the queue. */
import type { Waiting } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { listTurns, type Turn } from '../../store/builds/queue.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import { present } from '../lifecycle/present.ts'
import { readLimitUses, type LimitUses } from './limit-use.ts'
import { recent } from './recent.ts'
import type { Places } from '../../store/places.ts'

/** Returns what the waiting builds among `rows` wait for, by id. */
export async function explainWaits(app: App, rows: readonly BuildRow[], seen: Places | undefined): Promise<Map<string, Waiting>> {
  const waits = new Map<string, Waiting>()
  for (const row of rows) {
    const since = waitingSince(row)
    if (row.reason !== null && since !== null) waits.set(row.id, { reason: row.reason, since })
  }
  const queued = rows.filter(isQueued)
  if (queued.length === 0) return waits
  const uses = await readLimitUses(app, queued, { seen })
  const places = await readPlaces(app)
  for (const row of queued) {
    const wait = waits.get(row.id)
    if (wait === undefined) continue
    waits.set(row.id, { ...wait, ...uses.useOf(uses.scopeOf(wait.reason, row)), ...present({ place: places.get(row.number) }) })
  }
  return waits
}

function isQueued({ status, held }: BuildRow): boolean {
  return status === 'pending' && held === 0
}

/** Returns since when a build waits; null if it does not. */
function waitingSince(row: BuildRow): number | null {
  switch (row.status) {
    case 'pending':
    case 'delayed':
      return row.queued_at
    case 'elected':
      return row.elected_at
    case 'pending-approval':
      return row.paused_at
    default:
      return null
  }
}

/** Returns the place of each waiting build, by its number, among those that wait for the same. */
const readPlaces = recent(async (app: App) => {
  const uses = await readLimitUses(app, [], { seen: undefined })
  return placesIn(await listTurns(app.store.query, app.accountId), uses)
})

function placesIn(turns: readonly Turn[], uses: LimitUses): Map<number, number> {
  const places = new Map<number, number>()
  const taken = new Map<string, number>()
  for (const turn of turns.toSorted((a, b) => b.priority - a.priority || a.number - b.number)) {
    const reason = turn.reason ?? 'queued'
    const key = uses.scopeOf(reason, turn)?.key
    if (key === undefined) continue
    const scope = `${reason} ${key}`
    const place = (taken.get(scope) ?? 0) + 1
    taken.set(scope, place)
    places.set(turn.number, place)
  }
  return places
}
