/** The builds that use up limits, for views. A caller sees only builds of its projects and pipelines, but all builds count. */
import type { Reason } from '@windlass/plan'
import { MAX_HOLDERS, type BuildRef, type Waiting } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { listHolders, type Holder } from '../../store/builds/queue.ts'
import { withoutLocks } from '../../store/store.ts'
import { present } from '../lifecycle/present.ts'
import { limitKeys, readCapacity, type Capacity, type LimitedBuild } from '../schedule/capacity.ts'
import { waitScope, type WaitScope } from '../schedule/wait-scope.ts'
import { recent } from './recent.ts'
import { isWithin, placeOf, type Places } from '../../store/places.ts'

export interface LimitUses {
  readonly capacity: Capacity
  /** Returns what builds with this reason wait for; undefined for reasons that concern only one build. */
  scopeOf(reason: Reason, build: LimitedBuild): WaitScope | undefined
  /** Returns the builds that hold a limit, oldest first, as far as the caller may see them. */
  holdersOf(scope: WaitScope): readonly Holder[]
  /** Returns the answer form of the use of a limit. */
  useOf(scope: WaitScope | undefined): Pick<Waiting, 'used' | 'limit' | 'holders'>
}

/** Reads the builds that count against limits. */
export function readHoldersNow(app: App): Promise<Holder[]> {
  return listHolders(app.store.query, app.accountId)
}

/** Reads the builds that count against limits, at most once a second. */
export const readHolders = recent(readHoldersNow)

/** Whose builds are read, and how. */
export interface LimitView {
  /** Where the caller may see builds; everywhere if undefined. */
  readonly seen: Places | undefined
  /** A view that is itself shared for a second reads the holders now: two caches in a row would make it two seconds old. */
  readonly holders?: (app: App) => Promise<readonly Holder[]>
}

/** Reads the limits that apply to builds, and what uses them now. */
export async function readLimitUses(
  app: App,
  builds: readonly LimitedBuild[],
  { seen, holders: readAll = readHolders }: LimitView,
): Promise<LimitUses> {
  const { query } = app.store
  const capacity = await readCapacity(app, withoutLocks(query), builds)
  const byKey = new Map<string, Holder[]>()
  for (const holder of await readAll(app)) {
    if (!isWithin(seen, placeOf(holder))) continue
    for (const key of limitKeys(capacity.projects, holder)) {
      const holders = byKey.get(key)
      if (holders === undefined) byKey.set(key, [holder])
      else holders.push(holder)
    }
  }
  const holdersOf = ({ key, limit }: WaitScope): readonly Holder[] => (limit === undefined ? [] : (byKey.get(key) ?? []))
  return {
    capacity,
    scopeOf: (reason, build) => waitScope(capacity, reason, build),
    holdersOf,
    useOf: (scope) =>
      scope?.limit === undefined
        ? {}
        : {
            used: capacity.used.get(scope.key) ?? 0,
            limit: scope.limit,
            holders: holdersOf(scope).slice(0, MAX_HOLDERS).map(toRef),
          },
  }
}

type Referred = Pick<Holder, 'id' | 'number' | 'pipeline' | 'branch' | 'status' | 'started_at'>

/** Converts a build to its short form. */
export function toRef({ id, number, pipeline, branch, status, started_at: startedAt }: Referred): BuildRef {
  return { id, number, status, ...present({ pipeline, branch, startedAt }) }
}
