/** What statistics of a pipeline are computed from. */
import type { Percentiles } from './stats.ts'

/** A build that has ended. Times are milliseconds. */
export interface BuildSample {
  readonly id: string
  readonly number: number
  readonly status: 'success' | 'error' | 'terminated'
  readonly revision?: string | undefined
  readonly createdAt: number
  /** Undefined if no attempt started. */
  readonly startedAt?: number | undefined
  /** Without the time of approvals. */
  readonly durationMs?: number | undefined
  /** Cause -> time. */
  readonly waits: Readonly<Record<string, number>>
}

/** A step that has ended, once for each try. */
export interface StepSample {
  readonly buildId: string
  readonly step: string
  readonly attempt: number
  readonly try: number
  readonly status: string
  readonly reason?: string | undefined
  readonly startedAt: number
  readonly finishedAt: number
  readonly memoryBytes?: number | undefined
}

/** Returns a nearest-rank percentile; undefined without values. `share` is from 0 to 1. */
export function percentile(values: readonly number[], share: number): number | undefined {
  return values.toSorted((one, other) => one - other)[Math.max(0, Math.ceil(share * values.length) - 1)]
}

export function percentilesOf(values: readonly number[]): Percentiles {
  const [p50Ms, p95Ms] = [percentile(values, 0.5), percentile(values, 0.95)]
  return { count: values.length, ...(p50Ms !== undefined && { p50Ms }), ...(p95Ms !== undefined && { p95Ms }) }
}

/** Returns the duration of a step. Milliseconds. */
export function timeOf({ startedAt, finishedAt }: Pick<StepSample, 'startedAt' | 'finishedAt'>): number {
  return Math.max(0, finishedAt - startedAt)
}

/** Groups items by a key, in the order of their first occurrence. */
export function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
