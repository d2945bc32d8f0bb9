/** The filters of the list of builds, as the address has them and as the server takes them. */
import type { Build } from '@windlass/protocol'

/** Filters that can be repeated: one of the values must match. */
export const REPEATED = ['status', 'project', 'pipeline', 'branch', 'by', 'trigger', 'runtime', 'reason', 'annotation'] as const
export type RepeatedFilter = (typeof REPEATED)[number]

/** All filters must match. `from` and `to` are epoch milliseconds. */
export type BuildFilter = {
  readonly [K in RepeatedFilter]?: readonly string[]
} & { readonly q?: string; readonly from?: number; readonly to?: number }

const MAX_VALUES = 50

/** Reads the filters of an address. Ignores what is not a filter. */
export function readBuildFilter(search: string): BuildFilter {
  const params = new URLSearchParams(search)
  const repeated = REPEATED.flatMap((name) => {
    const values = [...new Set(params.getAll(name).filter((value) => value !== ''))].slice(0, MAX_VALUES)
    return values.length === 0 ? [] : [[name, values] as const]
  })
  const q = params.get('q')?.trim() ?? ''
  const times = (['from', 'to'] as const).flatMap((name) => {
    const time = Number(params.get(name) ?? '')
    return Number.isSafeInteger(time) && time > 0 ? [[name, time] as const] : []
  })
  return { ...Object.fromEntries([...repeated, ...times]), ...(q !== '' && { q: q.slice(0, 200) }) }
}

/** Writes filters as the query of an address, with `?`, or as an empty text. */
export function writeBuildFilter(filter: BuildFilter): string {
  const params = new URLSearchParams()
  for (const name of REPEATED) for (const value of filter[name] ?? []) params.append(name, value)
  for (const name of ['q', 'from', 'to'] as const) if (filter[name] !== undefined) params.set(name, String(filter[name]))
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

/** Returns the query of `GET /v1/builds`. */
export function toBuildQuery(filter: BuildFilter): Readonly<Record<string, never>> {
  const { status, by, project, pipeline, branch, trigger, runtime, reason, annotation, q, from, to } = filter
  const query = {
    status: status?.join(','),
    initiator: by,
    project,
    pipeline,
    branch,
    trigger,
    runtime,
    reason,
    annotation,
    q,
    from,
    to,
  }
  // The server checks the values: an address may hold any text.
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as Readonly<Record<string, never>>
}

/** Returns the filters with a value added to or removed from one of them. */
export function toggleFilter(filter: BuildFilter, name: RepeatedFilter, value: string): BuildFilter {
  const values = filter[name] ?? []
  const next = values.includes(value) ? values.filter((one) => one !== value) : [...values, value]
  const { [name]: _old, ...rest } = filter
  return next.length === 0 ? rest : { ...rest, [name]: next }
}

/** Returns true if no filter is set. */
export function isUnfiltered(filter: BuildFilter): boolean {
  return Object.keys(filter).length === 0
}

/** Returns false if a build certainly does not match. Filters whose values a build does not carry, such as annotations and `q`, count as matched. */
export function mayMatch(build: Build, filter: BuildFilter): boolean {
  const has = (values: readonly string[] | undefined, value: string | undefined): boolean =>
    values === undefined || (value !== undefined && values.includes(value))
  return (
    has(filter.status, build.status) &&
    has(filter.pipeline, build.pipeline) &&
    has(filter.branch, build.branch) &&
    has(filter.by, build.initiator) &&
    has(filter.runtime, build.runtime) &&
    has(filter.project, build.project) &&
    has(filter.trigger, build.trigger.name) &&
    has(filter.reason, build.reason) &&
    build.createdAt >= (filter.from ?? 0) &&
    build.createdAt < (filter.to ?? Infinity)
  )
}
