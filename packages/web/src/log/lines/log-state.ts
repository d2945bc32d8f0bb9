/** What a log is, and what is shown beside its rows. */
import type { LogProblem } from '@windlass/protocol'
import type { Match } from './search.ts'

export interface LogName {
  readonly buildId: string
  readonly attempt: number
  readonly stream: string
}

/** What is shown beside the rows. A new object after each change. */
export interface LogState {
  readonly total: number
  readonly isLoaded: boolean
  readonly error: unknown
  readonly isFollowing: boolean
  readonly isLive: boolean
  /** Lines that arrived below the view since it was paused. */
  readonly unseen: number
  readonly marked: readonly [number, number] | undefined
  readonly matches: readonly Match[]
  readonly current: Match | undefined
  readonly isSearching: boolean
  readonly hasMoreMatches: boolean
  readonly searchError: unknown
  readonly hasFolds: boolean
  readonly problems: readonly LogProblem[]
}

/** Before anything is read. */
export const EMPTY: LogState = {
  total: 0,
  isLoaded: false,
  error: undefined,
  isFollowing: false,
  isLive: false,
  unseen: 0,
  marked: undefined,
  matches: [],
  current: undefined,
  isSearching: false,
  hasMoreMatches: false,
  searchError: undefined,
  hasFolds: false,
  problems: [],
}
