import { sql } from 'kysely'
import type { EventRow } from '../../schema/schema.ts'
import type { Query } from '../../store.ts'

const TYPES = ['step.started', 'step.phase', 'step.usage', 'step.waiting', 'step.finished']
/** Longer events are those of steps with large exports. Their usage is left out. Characters. */
const MAX_DATA = 65_536

export type UsageEvent = Pick<EventRow, 'position' | 'attempt' | 'type' | 'at' | 'data'>

/** Lists the events of engines about the usage, the phases and the holds of steps after a position, in order. */
export async function listUsageEvents(
  query: Query,
  buildId: string,
  range: { after: number; limit: number },
): Promise<UsageEvent[]> {
  return query
    .selectFrom('event')
    .select(['position', 'attempt', 'type', 'at', 'data'])
    .where('build_id', '=', buildId)
    .where('position', '>', range.after)
    .where('source', '=', 'engine')
    .where('type', 'in', TYPES)
    .where(sql<number>`length(data)`, '<=', MAX_DATA)
    .orderBy('position')
    .limit(range.limit)
    .execute()
}
