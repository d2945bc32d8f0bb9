/** A search in one stream. The server reads the whole log and answers in parts; the matches are kept in order. */
import type { LogSearch } from '@windlass/protocol'

/** Matches that are found at most. */
export const MAX_FOUND = 10_000
const FIRST_PART = 100

export interface Wanted {
  readonly q: string
  readonly regex: boolean
  readonly case: boolean
}

export interface Match {
  readonly line: number
  /** In UTF-16 units of the visible text. */
  readonly column: number
  readonly length: number
}

export type SearchPart = (query: Wanted & { limit: number; after?: string }, signal: AbortSignal) => Promise<LogSearch>

export class Search {
  readonly #part: SearchPart
  readonly #changed: () => void
  #abort = new AbortController()
  #matches: Match[] = []
  #byLine = new Map<number, Match[]>()
  /** True while the server reads. */
  isBusy = false
  /** True if there are more matches than `MAX_FOUND`. */
  hasMore = false
  error: unknown

  constructor(part: SearchPart, changed: () => void) {
    this.#part = part
    this.#changed = changed
  }

  get matches(): readonly Match[] {
    return this.#matches
  }

  /** Returns the matches in a line. The result is the same object until the search changes. */
  inLine(line: number): readonly Match[] | undefined {
    return this.#byLine.get(line)
  }

  /** Starts a search and ends the one before. An empty text only ends it. */
  async start(wanted: Wanted): Promise<void> {
    this.#abort.abort()
    const abort = new AbortController()
    this.#abort = abort
    this.#matches = []
    this.#byLine = new Map()
    this.hasMore = false
    this.error = undefined
    this.isBusy = wanted.q !== ''
    this.#changed()
    if (wanted.q === '') return
    try {
      await this.#readAll(wanted, abort.signal)
    } catch (error) {
      if (!abort.signal.aborted) this.error = error
    }
    if (abort.signal.aborted) return
    this.isBusy = false
    this.#changed()
  }

  close(): void {
    this.#abort.abort()
  }

  /** Returns the index of the first match at or after a line, or of the first one. */
  indexFrom(line: number): number {
    const index = this.#matches.findIndex((match) => match.line >= line)
    return Math.max(0, index)
  }

  /** Returns the number of matches in the lines after `from`, up to `to`. */
  countBetween(from: number, to: number): number {
    return this.#countUpTo(to) - this.#countUpTo(from)
  }

  /** Returns the number of matches in the lines up to this one. */
  #countUpTo(line: number): number {
    let low = 0
    let high = this.#matches.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#matches[middle]?.line ?? 0) <= line) low = middle + 1
      else high = middle
    }
    return low
  }

  async #readAll(wanted: Wanted, signal: AbortSignal): Promise<void> {
    let after: string | undefined
    for (let limit = FIRST_PART; ; limit = MAX_FOUND - this.#matches.length) {
      const answer = await this.#part({ ...wanted, limit, ...(after !== undefined && { after }) }, signal)
      if (signal.aborted) return
      for (const { matches } of answer.streams) for (const match of matches) this.#add(match)
      after = answer.next
      this.hasMore = after !== undefined && this.#matches.length >= MAX_FOUND
      this.#changed()
      if (after === undefined || this.hasMore) return
    }
  }

  #add([line, column, length]: readonly [number, number, number]): void {
    const match = { line, column, length }
    this.#matches.push(match)
    const same = this.#byLine.get(line)
    if (same === undefined) this.#byLine.set(line, [match])
    else same.push(match)
  }
}
