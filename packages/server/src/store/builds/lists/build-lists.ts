/** Lists of builds by several criteria, newest first, and counts of their values. Both have a limited cost, see `build-filter.ts`. */
import { BUILD_STATUSES } from '@windlass/plan'
import { sql, type QueryCreator } from 'kysely'
import type { BuildRow, Schema } from '../../schema/schema.ts'
import type { Query } from '../../store.ts'
import {
  findNumberRange,
  selectPart,
  splitFilter,
  withPlaces,
  type BuildFilter,
  type NumberRange,
  type SplitFilter,
} from './build-filter.ts'

/** Rows that are checked for one page or one count. */
const MAX_EXAMINED = 10_000
const MIN_EXAMINED = 1000

export interface BuildPage {
  readonly rows: readonly BuildRow[]
  /** The next page has the builds with smaller numbers. Undefined on the last page. A page with `next` may have fewer builds than the limit. */
  readonly next?: number | undefined
}

/** Returns a page of the builds that match a filter and have a smaller number than `before`. */
export async function listBuilds(
  query: Query,
  filter: BuildFilter,
  { before, limit }: { readonly before?: number | undefined; readonly limit: number },
): Promise<BuildPage> {
  const split = splitFilter(filter)
  const range = await findNumberRange(query, filter, before)
  if (range === undefined) return { rows: [] }
  const examined = split.isChecked ? await findExamined(query, { filter, split, range }) : undefined
  const within = { ...range, floor: examined ?? range.floor }
  const pages = split.parts.map((part) =>
    split
      .check(selectPart(query, filter, { part, range: within }))
      .selectAll()
      .orderBy('number', 'desc')
      .limit(limit),
  )
  const [first, ...others] = pages
  if (first === undefined) return { rows: [] }
  const inner = (page: typeof first, on: QueryCreator<Schema> = query) => on.selectFrom(page.as('page')).selectAll()
  const merged = others.reduce((union, page) => union.unionAll(inner(page)), inner(first, withPlaces(query, filter)))
  const isPlain = others.length === 0 && filter.places === undefined
  const rows = await (isPlain ? first : merged.orderBy('number', 'desc').limit(limit)).execute()
  return { rows, next: rows.length === limit ? rows.at(-1)?.number : examined }
}

interface Examined {
  readonly filter: BuildFilter
  readonly split: SplitFilter
  readonly range: NumberRange
}

/** Returns the number down to which a search examines all parts; undefined if it can examine all of their builds. */
async function findExamined(query: Query, { filter, split, range }: Examined): Promise<number | undefined> {
  const perPart = Math.max(MIN_EXAMINED, Math.floor(MAX_EXAMINED / split.parts.length))
  const [first, ...others] = split.parts.map((part) =>
    selectPart(query, filter, { part, range }).select('number').orderBy('number', 'desc').limit(1).offset(perPart),
  )
  if (first === undefined) return undefined
  const inner = (end: typeof first, on: QueryCreator<Schema> = query) => on.selectFrom(end.as('page')).selectAll()
  const merged = others.reduce((union, end) => union.unionAll(inner(end)), inner(first, withPlaces(query, filter)))
  const isPlain = others.length === 0 && filter.places === undefined
  const ends = await (isPlain ? first : merged).execute()
  return ends.length === 0 ? undefined : Math.max(...ends.map(({ number }) => number))
}

/** Columns by whose values builds are counted. */
export const COUNTED = {
  status: 'status',
  project: 'project',
  pipeline: 'pipeline',
  branch: 'branch',
  initiator: 'initiator',
  runtime: 'runtime',
  trigger: 'trigger_name',
  reason: 'reason',
} as const
export type CountedBy = keyof typeof COUNTED

export interface BuildCounts {
  /** Most builds first. Builds without a value are not counted. */
  readonly counts: readonly { readonly value: string; readonly count: number }[]
  /** False if only the newest builds were counted. */
  readonly isExact: boolean
}

/** Counts of a part are exact up to this number of builds. */
const MAX_COUNTED = 10_000
const MAX_VALUES = 100

/** Counts the builds that match a filter by one of their values. Returns at most 100 values. */
export async function countBuildsBy(query: Query, given: BuildFilter, by: CountedBy): Promise<BuildCounts> {
  const filter = by === 'status' && given.status === undefined ? { ...given, status: BUILD_STATUSES } : given
  const split = splitFilter(filter)
  const range = await findNumberRange(query, filter, undefined)
  if (range === undefined) return { counts: [], isExact: true }
  const examined = split.isChecked ? await findExamined(query, { filter, split, range }) : undefined
  const within = { ...range, floor: examined ?? range.floor }
  const column = COUNTED[by]
  const [first, ...others] = split.parts.map((part, index) =>
    (index === 0 ? withPlaces(query, filter) : query)
      .selectFrom(
        split
          .check(selectPart(query, filter, { part, range: within }))
          .select(sql.ref<string | null>(column).as('value'))
          .orderBy('number', 'desc')
          .limit(MAX_COUNTED)
          .as('page'),
      )
      .select((of) => ['value', sql<number>`${sql.lit(index)}`.as('part'), of.fn.countAll<number>().as('count')])
      .groupBy('value'),
  )
  const rows = first === undefined ? [] : await others.reduce((union, part) => union.unionAll(part), first).execute()
  const counts = new Map<string, number>()
  const ofParts = new Map<number, number>()
  for (const { value, part, count } of rows) {
    ofParts.set(part, (ofParts.get(part) ?? 0) + Number(count))
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + Number(count))
  }
  return {
    counts: [...counts]
      .map(([value, count]) => ({ value, count }))
      .toSorted((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
      .slice(0, MAX_VALUES),
    isExact: examined === undefined && [...ofParts.values()].every((count) => count < MAX_COUNTED),
  }
}
