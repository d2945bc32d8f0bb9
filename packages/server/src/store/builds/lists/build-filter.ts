/**
 * Filters of builds. A filter is split into parts that an index of `build` answers in the order of the build numbers (`Part`), and conditions that are
 * checked row by row. A search examines a limited number of rows of each part, so that its cost does not depend on the number of stored builds.
 */
import type { BuildStatus, Reason } from '@windlass/plan'
import { sql, type QueryCreator, type RawBuilder, type SelectQueryBuilder, type SqlBool } from 'kysely'
import type { BuildRow, Schema } from '../../schema/schema.ts'
import type { Query } from '../../store.ts'
import type { Places } from '../../places.ts'

/** A pipeline by its id, or by the name that its builds have if it is not stored. */
export type PipelineChoice = { readonly id: string } | { readonly name: string }

/** Builds must match every field that is set. A list matches if one of its values does; an empty list matches nothing. */
export interface BuildFilter {
  readonly accountId: string
  readonly status?: readonly BuildStatus[] | undefined
  readonly projectIds?: readonly string[] | undefined
  /** Only builds of these places. */
  readonly places?: Places | undefined
  readonly pipelines?: readonly PipelineChoice[] | undefined
  readonly branches?: readonly string[] | undefined
  readonly number?: number | undefined
  /** Start of the revision. */
  readonly revision?: string | undefined
  readonly initiators?: readonly string[] | undefined
  readonly triggers?: readonly string[] | undefined
  readonly runtimes?: readonly string[] | undefined
  readonly reasons?: readonly Reason[] | undefined
  /** Created at this time or later, and before the other one. Epoch milliseconds. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** Part of the commit message or the branch, ignoring case; start of the revision; or the number. */
  readonly text?: string | undefined
  /** All of these annotations, each with one of its values (as stored) unless it has no values. */
  readonly annotations?: readonly { readonly name: string; readonly values: readonly string[] }[] | undefined
}

const PART = ['status', 'project_id', 'pipeline_id', 'pipeline', 'branch'] as const

/** Columns that start an index that ends with the number. */
type Columns = Partial<Pick<BuildRow, (typeof PART)[number]>>

/** Builds that have all of these values. */
export interface Part extends Columns {
  /** True for only those builds that are outside of the projects of `places`, whose builds are in parts of their own. */
  readonly isOutside?: true
}

/** A range of build numbers: `floor` is included, `before` is not. */
export interface NumberRange {
  readonly floor?: number | undefined
  readonly before?: number | undefined
}

export type Select<O = object> = SelectQueryBuilder<Schema, 'build', O>

export interface SplitFilter {
  /** A build that matches the filter is in exactly one of them. None if the filter matches nothing. */
  readonly parts: readonly Part[]
  /** True if `check` adds conditions. */
  readonly isChecked: boolean
  /** Adds the conditions that no index answers. */
  check<O>(select: Select<O>): Select<O>
}

/** Values of one field of a filter. */
interface Axis {
  readonly parts: readonly Part[]
  /** Adds the condition that a build is in one of the parts. */
  check<O>(select: Select<O>): Select<O>
}

/** More parts make a statement expensive. Lists of values beyond that are checked row by row. */
const MAX_PARTS = 64

/** Splits a filter. Ranges of times and numbers are not part of the result, see `selectPart`. */
export function splitFilter(filter: BuildFilter): SplitFilter {
  const lists: readonly Axis[] = [
    filter.status?.map((status): Columns => ({ status })),
    filter.projectIds?.map((id): Columns => ({ project_id: id })),
    filter.pipelines?.map((one): Columns => ('id' in one ? { pipeline_id: one.id } : { pipeline: one.name })),
    filter.branches?.map((branch): Columns => ({ branch })),
  ]
    .filter((values) => values !== undefined)
    .map((values) => toAxis(distinct(values)))
  const unsorted = filter.places === undefined ? lists : [...lists, placesAxis(filter.places)]
  const axes = unsorted.toSorted((a, b) => a.parts.length - b.parts.length)
  const checked: Axis[] = []
  while (axes.reduce((product, { parts }) => product * parts.length, 1) > MAX_PARTS) checked.push(...axes.splice(-1))
  const combine = (parts: readonly Part[], axis: Axis): Part[] =>
    parts.flatMap((part) => axis.parts.filter((value) => agree(part, value)).map((value) => ({ ...part, ...value })))
  return {
    parts: axes.reduce<readonly Part[]>(combine, [{}]),
    isChecked: checked.length > 0 || hasConditions(filter),
    check: (select) =>
      withConditions(
        checked.reduce((all, axis) => axis.check(all), select),
        filter,
      ),
  }
}

function toAxis(parts: readonly Columns[]): Axis {
  return { parts, check: (select) => select.where((where) => where.or(parts.map((part) => where.and(part)))) }
}

const SEEN_PROJECTS = sql`(select id from seen_project)`
const SEEN_PIPELINES = sql`(select id from seen_pipeline)`
const OUTSIDE = sql<SqlBool>`(project_id is null or project_id not in ${SEEN_PROJECTS})`

function placesAxis({ projects, pipelines }: Places): Axis {
  const outside = projects.length === 0 ? {} : { isOutside: true as const }
  return {
    parts: distinct([
      ...projects.map((id): Part => ({ project_id: id })),
      ...pipelines.map((id): Part => ({ pipeline_id: id, ...outside })),
    ]),
    check: (select) => select.where(sql<SqlBool>`(project_id in ${SEEN_PROJECTS} or pipeline_id in ${SEEN_PIPELINES})`),
  }
}

/**
 * Returns the creator of a statement with parts or conditions of the filter. It has the ids of the places as tables, so that the number of parameters is
 * that of the ids, whatever the number of parts.
 */
export function withPlaces(query: Query, { places }: BuildFilter): QueryCreator<Schema> {
  if (places === undefined) return query
  return query
    .with('seen_project(id)', () => toTable(places.projects))
    .with('seen_pipeline(id)', () => toTable(places.pipelines)) as unknown as QueryCreator<Schema>
}

function toTable(ids: readonly string[]): RawBuilder<{ id: string }> {
  if (ids.length === 0) return sql<{ id: string }>`(select '' where 1 = 0)`
  return sql<{ id: string }>`(values ${sql.join(ids.map((id) => sql`(${id})`))})`
}

/** Returns false if no build is in both parts. */
function agree(one: Part, other: Part): boolean {
  return PART.every((column) => one[column] === undefined || other[column] === undefined || one[column] === other[column])
}

function distinct<T extends Part>(axis: readonly T[]): T[] {
  return [...new Map(axis.map((value) => [JSON.stringify(value), value])).values()]
}

const LISTS = { initiators: 'initiator', triggers: 'trigger_name', runtimes: 'runtime', reasons: 'reason' } as const

function hasConditions({ text, annotations = [], ...filter }: BuildFilter): boolean {
  const lists = Object.keys(LISTS) as (keyof typeof LISTS)[]
  return text !== undefined || annotations.length > 0 || lists.some((name) => filter[name] !== undefined)
}

function withConditions<O>(select: Select<O>, { text, annotations = [], ...filter }: BuildFilter): Select<O> {
  let all = select
  for (const [name, column] of Object.entries(LISTS) as [keyof typeof LISTS, (typeof LISTS)[keyof typeof LISTS]][]) {
    const values = filter[name]
    if (values !== undefined) all = all.where(column, 'in', [...values])
  }
  for (const annotation of annotations) all = withAnnotation(all, annotation)
  return text === undefined ? all : withText(all, text)
}

function withAnnotation<O>(
  select: Select<O>,
  { name, values }: { readonly name: string; readonly values: readonly string[] },
): Select<O> {
  return select.where((where) => {
    let found = where
      .selectFrom('annotation')
      .select('annotation.name')
      .whereRef('annotation.entity_id', '=', 'build.id')
      .where('annotation.entity', '=', 'build')
      .where('annotation.kind', '=', 'annotation')
      .where('annotation.name', '=', name)
    if (values.length > 0) found = found.where('annotation.value', 'in', [...values])
    return where.exists(found)
  })
}

function withText<O>(select: Select<O>, text: string): Select<O> {
  const literal = text.replaceAll(/[\\%_]/g, String.raw`\$&`)
  const like = (column: 'commit_message' | 'branch' | 'revision', pattern: string) =>
    sql<boolean>`lower(${sql.ref(column)}) like lower(${pattern}) escape '\\'`
  return select.where((where) =>
    where.or([
      like('commit_message', `%${literal}%`),
      like('branch', `%${literal}%`),
      like('revision', `${literal}%`),
      ...(/^\d{1,15}$/.test(text) ? [where('number', '=', Number(text))] : []),
    ]),
  )
}

/** Selects the builds of a part in a range of numbers, with the conditions on times and revisions. For a statement that `withPlaces` creates. */
export function selectPart(query: Query, filter: BuildFilter, { part, range }: { part: Part; range: NumberRange }): Select {
  let select: Select = query.selectFrom('build').where('account_id', '=', filter.accountId)
  const { isOutside, ...columns } = part
  for (const [column, value] of Object.entries(columns) as [(typeof PART)[number], string][])
    select = select.where(column, '=', value)
  if (isOutside === true) select = select.where(OUTSIDE)
  if (filter.number !== undefined) select = select.where('number', '=', filter.number)
  if (filter.revision !== undefined) select = withRevision(select, filter.revision)
  // The plus keeps the databases from using the index of the times: the range of numbers already has the same bounds.
  if (filter.from !== undefined) select = select.where(sql`+created_at`, '>=', filter.from)
  if (filter.to !== undefined) select = select.where(sql`+created_at`, '<', filter.to)
  if (range.before !== undefined) select = select.where('number', '<', range.before)
  return range.floor === undefined ? select : select.where('number', '>=', range.floor)
}

/** Commits are compared by their start; other revisions, such as tags, must be equal. */
function withRevision(select: Select, revision: string): Select {
  if (!/^[0-9a-f]{4,64}$/.test(revision)) return select.where('revision', '=', revision)
  return select.where('revision', '>=', revision).where('revision', '<', `${revision}g`)
}

/** Builds that were created within moments of each other may have numbers in another order than their times. */
const SKEWED = 100

/** Returns the range of numbers of the builds that were created between two times; undefined if there are none. */
export async function findNumberRange(
  query: Query,
  { accountId, from, to }: BuildFilter,
  before: number | undefined,
): Promise<NumberRange | undefined> {
  const near = query.selectFrom('build').select('number').where('account_id', '=', accountId).limit(SKEWED)
  const first = from === undefined ? [] : await near.where('created_at', '>=', from).orderBy('created_at').execute()
  const last = to === undefined ? [] : await near.where('created_at', '<', to).orderBy('created_at', 'desc').execute()
  if ((from !== undefined && first.length === 0) || (to !== undefined && last.length === 0)) return undefined
  const end = to === undefined ? Infinity : Math.max(...last.map(({ number }) => number)) + 1
  const highest = Math.min(before ?? Infinity, end)
  return {
    floor: from === undefined ? undefined : Math.min(...first.map(({ number }) => number)),
    before: highest === Infinity ? undefined : highest,
  }
}
