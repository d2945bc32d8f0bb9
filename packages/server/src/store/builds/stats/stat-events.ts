import { sql } from 'kysely'
import type { EventRow } from '../../schema/schema.ts'
import type { Query } from '../../store.ts'
import { findEventData } from '../events.ts'

export type StatEvent = Pick<EventRow, 'type' | 'attempt' | 'at' | 'data'>

const TYPES = ['build.waiting', 'build.resumed', 'attempt.created', 'attempt.lost', 'step.started', 'step.finished']
/** Events of one build that are read; statistics leave out the rest of longer builds. */
const MAX_EVENTS = 10_000
/** Events per statement. */
const PAGE = 500
/** Longer data, that of steps with large exports, is read one by one, so that it is not in memory at once. Characters. */
const SHORT_DATA = 4_096
/** Long data of one build that is read. Statistics leave out the steps after it. Characters. */
const MAX_LONG_DATA = 16_777_216

/** Yields the events of a build from which its statistics are made, in the order of its feed. `data` is undefined if it is left out. */
export async function* statEventsOf(
  query: Query,
  buildId: string,
): AsyncGenerator<Omit<StatEvent, 'data'> & { readonly data: string | undefined }> {
  let [after, left] = [0, MAX_LONG_DATA]
  for (let read = 0; read < MAX_EVENTS; read += PAGE) {
    const page = await listPage(query, buildId, after)
    for (const { position, length, data: short, ...event } of page) {
      after = position
      if (short === null) left -= length
      const long = short === null && left >= 0 ? await findEventData(query, { build_id: buildId, position }) : undefined
      yield { ...event, data: short ?? long }
    }
    if (page.length < PAGE) return
  }
}

async function listPage(query: Query, buildId: string, after: number) {
  return query
    .selectFrom('event')
    .select(['position', 'type', 'attempt', 'at'])
    .select(sql<string | null>`case when length(data) <= ${sql.lit(SHORT_DATA)} then data end`.as('data'))
    .select(sql<number>`length(data)`.as('length'))
    .where('build_id', '=', buildId)
    .where('position', '>', after)
    .where('type', 'in', TYPES)
    .orderBy('position')
    .limit(PAGE)
    .execute()
}
