/** The queue: why builds wait, what holds them, and when the next place is free. */
import type { Reason } from '@windlass/plan'
import type { Queue, QueueCause } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { listQueued, type Holder, type QueuedBuild } from '../../store/builds/queue.ts'
import { present } from '../lifecycle/present.ts'
import { forecastable, pipelinesOf, timeToNext } from './forecast.ts'
import { readHoldersNow, readLimitUses, type LimitUses, type LimitView } from './limit-use.ts'
import type { Seen } from './list-builds.ts'
import { recent } from './recent.ts'
import { readUsualTimes } from './usual-times.ts'
import type { WaitScope } from '../schedule/wait-scope.ts'

const MAX_CAUSES = 100
const MAX_BUILDS = 20
const DAY_MS = 86_400_000

interface Group {
  readonly reason: Reason
  readonly scope: WaitScope | undefined
  /** In the order in which they start. */
  readonly builds: QueuedBuild[]
}

/** Returns the causes why builds wait, as far as the caller may see the builds. The whole queue is read at most once a second. */
export async function readQueue(app: App, seen: Seen): Promise<Queue> {
  return seen === undefined ? readAll(app) : readView(app, { seen })
}

const readAll = recent((app) => readView(app, { seen: undefined, holders: readHoldersNow }))

async function readView(app: App, view: LimitView): Promise<Queue> {
  const { seen } = view
  const queued = await listQueued(app.store.query, { accountId: app.accountId, places: seen })
  if (queued.length === 0) return { waiting: 0, items: [] }
  const uses = await readLimitUses(app, queued, view)
  const groups = groupsOf(queued, uses).slice(0, MAX_CAUSES)
  const holdersOf = (scope: WaitScope | undefined): readonly Holder[] => (scope === undefined ? [] : uses.holdersOf(scope))
  const holders = groups.flatMap(({ scope }) => forecastable(holdersOf(scope)))
  const usual = await readUsualTimes(app, pipelinesOf(holders))
  const next = (scope: WaitScope | undefined): number | undefined => timeToNext(holdersOf(scope), usual, app.clock.now())
  return { waiting: queued.length, items: groups.map((group) => toCause(group, { uses, next })) }
}

function groupsOf(queued: readonly QueuedBuild[], uses: LimitUses): Group[] {
  const groups = new Map<string, Group>()
  for (const build of queued) {
    const reason = build.reason ?? 'queued'
    const scope = build.held === 1 ? undefined : uses.scopeOf(reason, build)
    const key = `${reason} ${scope?.key}`
    const group = groups.get(key) ?? { reason, scope, builds: [] }
    group.builds.push(build)
    groups.set(key, group)
  }
  return [...groups.values()]
}

interface Shown {
  readonly uses: LimitUses
  readonly next: (scope: WaitScope | undefined) => number | undefined
}

function toCause({ reason, scope, builds }: Group, { uses, next }: Shown): QueueCause {
  const [first] = builds
  const since = builds.reduce((oldest, { queued_at: at }) => Math.min(oldest, at), Infinity)
  return {
    reason,
    waiting: builds.length,
    since,
    expiresAt: since + uses.capacity.account.maxQueuedDays * DAY_MS,
    builds: builds.slice(0, MAX_BUILDS).map(toQueued),
    ...uses.useOf(scope),
    ...present({
      message: first?.message,
      hint: first?.hint,
      ...(first !== undefined && concerned(scope, first, uses)),
      nextMs: next(scope),
    }),
  }
}

function toQueued({ id, number, pipeline, branch, queued_at: since }: QueuedBuild): QueueCause['builds'][number] {
  return { id, number, since, ...present({ pipeline, branch }) }
}

/** Returns what the scope of a cause concerns, by the names of one of its builds. */
function concerned(
  scope: WaitScope | undefined,
  build: QueuedBuild,
  { capacity }: LimitUses,
): Partial<Record<'runtime' | 'project' | 'pipeline' | 'branch' | 'trigger', string | null | undefined>> {
  switch (scope?.key.split('/', 1)[0]) {
    case 'runtime':
      return { runtime: build.runtime ?? capacity.defaultRuntime }
    case 'project':
      return { project: build.pipeline_id === null ? undefined : capacity.projects.get(build.pipeline_id)?.name }
    case 'pipeline':
      return { pipeline: build.pipeline }
    case 'branch':
      return { pipeline: build.pipeline, branch: build.branch }
    case 'trigger':
      return { pipeline: build.pipeline, trigger: build.trigger_name }
    default:
      return {}
  }
}
