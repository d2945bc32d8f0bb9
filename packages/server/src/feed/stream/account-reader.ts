/** Reads the lists of the account and returns what differs from the previous read. */
import { isFinalBuild } from '@windlass/plan'
import type { AccountChange, AccountCounts } from '@windlass/protocol'
import { listShownAgents } from '../../agents/agents.ts'
import type { App } from '../../app.ts'
import { toApprovalItems } from '../../builds/list/list-approvals.ts'
import { toItems } from '../../builds/list/list-builds.ts'
import { countShownGitlabJobs, listGitlabJobPage } from '../../gitlab-jobs/show-jobs.ts'
import type { Actor } from '../../identity/actor.ts'
import { sumShownApplications, type ApplicationSums } from '../../gitops/applications/show-applications.ts'
import { listShownRuntimes } from '../../runtimes/show-runtimes.ts'
import { countLiveBuilds, countOpenApprovals, findBuilds, listNewestBuilds } from '../../store/builds/lists/account-lists.ts'
import { listDecidedApprovals, listOpenApprovals } from '../../store/builds/approvals.ts'
import { placeOf, type Place } from '../../store/places.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import { listDeliveryPage } from '../../triggers/deliveries/deliveries.ts'

export interface ReadChange {
  readonly change: AccountChange
  /** JSON of the change without what depends on the caller. */
  readonly json: string
  /** Of a build or approval; undefined for what belongs to the installation. */
  readonly place: Place | undefined
}

/** Counts of the builds of one place. */
export interface PlaceCounts {
  readonly place: Place
  readonly counts: AccountCounts
}

export interface Read {
  readonly changes: readonly ReadChange[]
  readonly counts: readonly PlaceCounts[]
  readonly shared: SharedCounts
}

/** Counts of what belongs to the installation. */
export interface SharedCounts {
  /** Jobs of GitLab that run or wait; undefined if no manager of GitLab runners is known. */
  readonly gitlabJobs: number | undefined
  /** Applications that are degraded or missing; undefined if no GitOps runtime is known. */
  readonly applications: number | undefined
}

/** What was reported since the last read. */
export interface Reported {
  /** Ids of builds. */
  readonly builds: ReadonlySet<string>
  /** True if an application or a release has changed. */
  readonly applications: boolean
}

/** Newest builds, deliveries and decisions that are compared although nothing was reported. */
const NEWEST = 200
const MAX_DECIDED = 50
const MAX_OPEN = 500
/** Builds that were read and have not ended, and are read again although nothing was reported. */
const MAX_LIVE = 2_000
/** Ids of one query. */
const PER_QUERY = 500

/** Sees everything. `may` of approvals is replaced for each reader. */
const ANY: Actor = { kind: 'key', id: '', accountId: '', name: '', role: 'admin' }

type Noun = Exclude<AccountChange['noun'], 'gone'>

/** An entry of a list. */
interface Entry {
  readonly id: string
  readonly change: AccountChange
  readonly place?: Place
}

export interface AccountReader {
  /** Reads the builds that were reported as changed, and the lists that change with builds. */
  readChanged(reported: Reported): Promise<Read>
  /** Reads also what may have changed without a report. */
  readAll(reported?: Reported): Promise<Read>
}

export function openAccountReader(app: App): AccountReader {
  const { accountId, store } = app
  const lists: Record<Exclude<Noun, 'build' | 'applications'>, Map<string, string>> = {
    approval: new Map(),
    runtime: new Map(),
    agent: new Map(),
    delivery: new Map(),
    'gitlab-job': new Map(),
  }
  /** Build -> the list form that was sent last, newest last. */
  const builds = new Map<string, { readonly json: string; readonly isLive: boolean; readonly place: Place }>()
  let applicationSums: ApplicationSums | undefined

  async function readBuilds(rows: readonly BuildRow[]): Promise<ReadChange[]> {
    const items = await toItems(app, rows, undefined)
    return rows.flatMap((row, index): ReadChange[] => {
      const item = items[index]
      if (item === undefined) return []
      const change = { noun: 'build', item } as const
      const json = JSON.stringify(change)
      const isNew = builds.get(row.id)?.json !== json
      builds.delete(row.id)
      builds.set(row.id, { json, isLive: !isFinalBuild(row.status), place: placeOf(row) })
      return isNew ? [{ change, json, place: placeOf(row) }] : []
    })
  }

  /** Reads builds by id, and reports those that do not exist any more. */
  async function readIds(ids: readonly string[]): Promise<ReadChange[]> {
    const changes: ReadChange[] = []
    for (let at = 0; at < ids.length; at += PER_QUERY) {
      const some = ids.slice(at, at + PER_QUERY)
      const rows = await findBuilds(store.query, accountId, some)
      changes.push(...(await readBuilds(rows.toSorted((a, b) => a.number - b.number))))
      const found = new Set(rows.map(({ id }) => id))
      for (const id of some) {
        const known = builds.get(id)
        if (found.has(id) || known === undefined) continue
        builds.delete(id)
        changes.push(toGone('build', id, known.place))
      }
    }
    return changes
  }

  async function readDue(ids: ReadonlySet<string>): Promise<ReadChange[]> {
    const newest = await listNewestBuilds(store.query, accountId, NEWEST)
    const changes = await readBuilds(newest.toReversed())
    const seen = new Set(newest.map(({ id }) => id))
    const live = [...builds].filter(([, { isLive }]) => isLive).map(([id]) => id)
    const due = new Set([...ids, ...live.slice(-MAX_LIVE)]).difference(seen)
    changes.push(...(await readIds([...due])))
    // The builds that were read longest ago come first.
    for (const id of builds.keys()) if (builds.size > MAX_LIVE + NEWEST) builds.delete(id)
    return changes
  }

  async function readApprovals(): Promise<ReadChange[]> {
    const filter = { accountId, places: undefined, after: undefined }
    const open = await listOpenApprovals(store.query, { ...filter, limit: MAX_OPEN })
    const decided = await listDecidedApprovals(store.query, { ...filter, limit: MAX_DECIDED })
    const rows = [...open, ...decided]
    const items = await toApprovalItems(app, rows, ANY)
    return compare(
      'approval',
      rows.flatMap((row, index): Entry[] => {
        const item = items[index]
        const id = `${row.build_id}/${row.step}`
        return item === undefined ? [] : [{ id, change: { noun: 'approval', item }, place: placeOf(row) }]
      }),
    )
  }

  async function readInstallation(): Promise<ReadChange[]> {
    const runtimes = await listShownRuntimes(app)
    const agents = await listShownAgents(app)
    const deliveries = await listDeliveryPage(app, { limit: NEWEST })
    return [
      ...compare(
        'runtime',
        runtimes.map((item) => ({ id: item.id, change: { noun: 'runtime', item } })),
      ),
      ...compare(
        'agent',
        agents.map((item) => ({ id: item.id, change: { noun: 'agent', item } })),
      ),
      ...compare(
        'delivery',
        deliveries.items.map((item) => ({ id: item.id, change: { noun: 'delivery', item } })),
      ),
    ]
  }

  /** Says that applications have changed, but not which: there can be thousands of them. Readers read the ones that they show. */
  async function readApplications(isReported: boolean): Promise<ReadChange[]> {
    const before = applicationSums
    applicationSums = await sumShownApplications(app)
    if (!isReported && applicationSums?.stamp === before?.stamp) return []
    const change = { noun: 'applications' } as const
    return [{ change, json: JSON.stringify(change), place: undefined }]
  }

  async function readGitlabJobs(): Promise<Pick<SharedCounts, 'gitlabJobs'> & Pick<Read, 'changes'>> {
    const gitlabJobs = await countShownGitlabJobs(app)
    if (gitlabJobs === undefined) return { changes: [], gitlabJobs }
    const { items } = await listGitlabJobPage(app, { limit: NEWEST })
    const entries = items.map((item): Entry => ({ id: item.id, change: { noun: 'gitlab-job', item } }))
    return { changes: compare('gitlab-job', entries), gitlabJobs }
  }

  function compare(noun: Exclude<Noun, 'build' | 'applications'>, entries: readonly Entry[]): ReadChange[] {
    const known = lists[noun]
    const next = new Map<string, string>()
    const changes: ReadChange[] = []
    for (const { id, change, place } of entries) {
      const json = JSON.stringify(change)
      const state = stateOf(json)
      next.set(id, state)
      if (known.get(id) !== state) changes.push({ change, json, place })
    }
    // The lists of deliveries, approvals and jobs of GitLab end at a limit, so that only the others show what is gone.
    if (noun === 'runtime' || noun === 'agent')
      for (const id of known.keys()) if (!next.has(id)) changes.push(toGone(noun, id, undefined))
    lists[noun] = next
    return changes
  }

  async function readCounts(): Promise<Read['counts']> {
    const counts = new Map<string, PlaceCounts>()
    const of = (place: Place): PlaceCounts => counts.get(JSON.stringify(place)) ?? { place, counts: { builds: {}, approvals: 0 } }
    const add = (place: Place, more: Partial<AccountCounts>): void =>
      void counts.set(JSON.stringify(place), { place, counts: { ...of(place).counts, ...more } })
    for (const row of await countLiveBuilds(store.query, accountId)) {
      const place = placeOf(row)
      add(place, { builds: { ...of(place).counts.builds, [row.status]: Number(row.count) } })
    }
    for (const row of await countOpenApprovals(store.query, accountId)) add(placeOf(row), { approvals: Number(row.count) })
    return [...counts.values()]
  }

  async function finish(changes: ReadChange[]): Promise<Read> {
    const { gitlabJobs, changes: ofGitlab } = await readGitlabJobs()
    changes.push(...(await readApprovals()), ...(await readInstallation()), ...ofGitlab)
    return { changes, counts: await readCounts(), shared: { gitlabJobs, applications: applicationSums?.unwell } }
  }

  return {
    // Builds change far more often than applications, which are summed only if one of them was reported.
    readChanged: async ({ builds: ids, applications }) =>
      finish([...(await readIds([...ids])), ...(applications ? await readApplications(true) : [])]),
    readAll: async ({ builds: ids, applications } = { builds: new Set(), applications: false }) =>
      finish([...(await readDue(ids)), ...(await readApplications(applications))]),
  }
}

function toGone(of: Exclude<Noun, 'applications'>, id: string, place: Place | undefined): ReadChange {
  const change = { noun: 'gone', of, id } as const
  return { change, json: JSON.stringify(change), place }
}

/** Returns the JSON of an entry without the times of the last calls of agents and of the last reports about jobs, which change all the time. */
function stateOf(json: string): string {
  return json.replaceAll(/"(?:lastSeenAt|reportedAt)":\d+,?/g, '')
}
