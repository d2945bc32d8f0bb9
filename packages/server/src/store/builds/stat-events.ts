import type { EventRow } from '../schema.ts'
import type { Query } from '../store.ts'

export type StatEvent = Pick<EventRow, 'type' | 'attempt' | 'at' | 'data'>

const TYPES = ['build.waiting', 'build.resumed', 'attempt.created', 'attempt.lost', 'step.started', 'step.finished']
/** Events of one build that are read; statistics leave out the rest of longer builds. */
const MAX_EVENTS = 10_000

/** Lists the events of a build from which its statistics are made, in the order of its feed. */
export async function listStatEvents(query: Query, buildId: string): Promise<StatEvent[]> {
  return query
    .selectFrom('event')
    .select(['type', 'attempt', 'at', 'data'])
    .where('build_id', '=', buildId)
    .where('type', 'in', TYPES)
    .orderBy('position')
    .limit(MAX_EVENTS)
    .execute()
}
