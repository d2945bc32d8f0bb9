/** The rows from which the trace of a build is made. */
import type { AttemptRow, BuildRow, EventRow } from '../schema/schema.ts'
import type { Query } from '../store.ts'
import { listAttempts } from './attempts.ts'

export interface TraceFacts {
  readonly build: BuildRow
  readonly attempts: readonly AttemptRow[]
  readonly events: readonly Pick<EventRow, 'type' | 'attempt' | 'at' | 'data'>[]
}

const EVENTS = [
  'build.waiting',
  'build.resumed',
  'attempt.created',
  'attempt.lost',
  'attempt.started',
  'step.started',
  'step.finished',
]
/** Events of one trace; those of longer builds are left out. */
const MAX_EVENTS = 10_000

/** Reads what a trace shows of a build; undefined if the build does not exist. */
export async function readTraceFacts(query: Query, buildId: string): Promise<TraceFacts | undefined> {
  const build = await query.selectFrom('build').selectAll().where('id', '=', buildId).executeTakeFirst()
  if (build === undefined) return undefined
  const events = await query
    .selectFrom('event')
    .select(['type', 'attempt', 'at', 'data'])
    .where('build_id', '=', buildId)
    .where('type', 'in', EVENTS)
    .orderBy('position')
    .limit(MAX_EVENTS)
    .execute()
  return { build, attempts: await listAttempts(query, buildId), events }
}
