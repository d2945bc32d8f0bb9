/**
 * The order in which waiting builds start. Builds of a group (`WaitingGroup`) share all limits, so a group without capacity is skipped as a whole.
 * The cost of a pass depends on the number of groups, not of builds, and builds that cannot start are not read.
 */
import type { BuildRow } from '../../store/schema/schema.ts'
import type { Tx } from '../../store/store.ts'
import { lockGroup, type WaitingGroup } from '../../store/builds/waiting.ts'
import { blockingCause, type Capacity } from './capacity.ts'

/** Maximum number of builds of a group that are read at once. */
const MAX_AHEAD = 32

/** Position of the pass in a group. */
interface GroupCursor {
  readonly group: WaitingGroup
  /** Lower bound for the numbers of the remaining builds. */
  from: number
  /** Builds that were read ahead, oldest first. */
  builds: BuildRow[]
  /** Number of builds to read next. Starts at 1, because most groups have capacity for one build. */
  ahead: number
}

/**
 * Yields locked builds of the open groups while there is capacity, ordered by priority, then by age. The caller must count each build against the
 * limits (`countUsage`) before it asks for the next.
 */
export async function* startableBuilds(
  tx: Tx,
  { accountId, capacity, open }: { accountId: string; capacity: Capacity; open: readonly WaitingGroup[] },
): AsyncGenerator<BuildRow> {
  const cursors = open.map((group): GroupCursor => ({ group, from: group.number, builds: [], ahead: 1 })).toSorted(byTurn)
  for (let cursor = cursors.shift(); cursor !== undefined; cursor = cursors.shift()) {
    // Capacity is not freed within a pass, so the whole group is done.
    if (blockingCause(capacity, cursor.group) !== undefined) continue
    await readAhead(tx, accountId, cursor)
    const [build] = cursor.builds
    if (build === undefined) continue
    const isNext = build.number === cursor.from
    if (isNext) cursor.builds.shift()
    cursor.from = isNext ? build.number + 1 : build.number
    if (isNext) yield build
    insert(cursors, cursor)
  }
}

async function readAhead(tx: Tx, accountId: string, cursor: GroupCursor): Promise<void> {
  if (cursor.builds.length > 0) return
  cursor.builds = await lockGroup(tx, { accountId, group: cursor.group, from: cursor.from, limit: cursor.ahead })
  cursor.ahead = Math.min(MAX_AHEAD, cursor.ahead * 2)
}

/** Inserts the cursor again at its place in the order. */
function insert(cursors: GroupCursor[], cursor: GroupCursor): void {
  const at = cursors.findIndex((other) => byTurn(cursor, other) < 0)
  cursors.splice(at < 0 ? cursors.length : at, 0, cursor)
}

function byTurn(a: GroupCursor, b: GroupCursor): number {
  return b.group.priority - a.group.priority || a.from - b.from
}
