/** What `get` and `delete` need to know about a kind of resource. */
import type { ApiClient } from '@windlass/client'
import type { Reason } from '@windlass/plan'
import type {
  ApplicationHealth,
  ApplicationSync,
  DiskState,
  GitlabJobState,
  ReleaseStatus,
  RolloutPhase,
  WorkflowPhase,
} from '@windlass/protocol'
import type { Style } from '../format/style.ts'
import { formatAge } from '../format/time.ts'
import type { KindName } from '../kind-names.ts'

export interface RenderContext {
  readonly now: number
  readonly style: Style
}

export type Columns<T> = Readonly<Record<string, (item: T, renderContext: RenderContext) => string>>

/** What became of a deletion that another process carries out. */
export interface RemovalResult {
  /** Instead of `deleted`. */
  readonly outcome: string
  readonly message: string
}

/** The calls for a kind. Resources are found by name, or by id if they have no name. */
export interface KindCalls<T> {
  list(options: { readonly query: ListQuery }): Promise<{ readonly items: readonly T[]; readonly next?: string | undefined }>
  get(name: string): Promise<T>
  /** Absent if the kind has no versions. */
  versions?(name: string): Promise<{ readonly items: readonly T[] }>
  /** Absent if resources of the kind cannot be deleted. */
  remove?(name: string, options: { readonly query: { readonly force: true } } | undefined): Promise<void | RemovalResult>
}

/** Filters of builds. */
export interface BuildFilters {
  readonly pipelines?: string[] | undefined
  readonly branch?: string[] | undefined
  readonly annotation?: string[] | undefined
  readonly project?: string[] | undefined
  readonly initiator?: string[] | undefined
  readonly trigger?: string[] | undefined
  readonly runtime?: string[] | undefined
  readonly reason?: Reason[] | undefined
  readonly revision?: string | undefined
  readonly number?: number | undefined
  readonly q?: string | undefined
  /** Epoch milliseconds. */
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** A page, and the filters of builds, triggers and deliveries. */
export interface ListQuery extends BuildFilters {
  readonly limit: number
  readonly cursor: string | undefined
  readonly pipeline?: string | undefined
  readonly status?: string | undefined
  readonly webhook?: string | undefined
  readonly repo?: string | undefined
  /** Disks. */
  readonly disks?: {
    readonly runtime?: string | undefined
    readonly pipeline?: string | undefined
    readonly state?: DiskState | undefined
  }
  readonly gitlabJobs?: {
    readonly state?: GitlabJobState | undefined
    readonly runner?: string | undefined
    readonly project?: string | undefined
  }
  readonly applications?: {
    readonly runtime?: string | undefined
    readonly project?: string | undefined
    readonly health?: ApplicationHealth | undefined
    readonly sync?: ApplicationSync | undefined
    readonly q?: string | undefined
  }
  readonly rollouts?: {
    readonly runtime?: string | undefined
    readonly phase?: RolloutPhase | undefined
    readonly q?: string | undefined
  }
  readonly workflows?: {
    readonly runtime?: string | undefined
    readonly phase?: WorkflowPhase | undefined
    readonly q?: string | undefined
  }
  readonly releases?: { readonly product?: string | undefined; readonly status?: ReleaseStatus | undefined }
}

export interface Kind<T> {
  readonly name: KindName
  readonly singular: string
  readonly of: (client: ApiClient) => KindCalls<T>
  readonly nameOf: (item: T) => string
  readonly columns: Columns<T>
  /** Additional columns of `-o wide`. */
  readonly wide: Columns<T>
}

/** Cell of the age of a resource. */
export const age = (item: { createdAt: number }, { now }: RenderContext): string => formatAge(item.createdAt, now)
