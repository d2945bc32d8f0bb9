/** One opened log: its lines, its search and its view, and what the bar above it shows. */
import type { LogLines } from '@windlass/protocol'
import { now } from '../looks/clock.ts'
import { onReturn } from '../server/away.ts'
import { client } from '../server/client.ts'
import { isWorthRepeating } from '../server/query-client.ts'
import { followTopics } from '../server/stream.ts'
import { Follower } from './lines/follow.ts'
import type { LogName, LogState } from './lines/log-state.ts'
import { isMissing, loadLastLine } from './last-line.ts'
import { Marks } from './lines/marks.ts'
import { Search, type Wanted } from './lines/search.ts'
import { extended, readText } from './lines/select.ts'
import { BLOCK_LINES, LineSource } from './lines/source.ts'
import { View, type Elements, type Settings } from './view.ts'

export interface LogOptions {
  readonly elements: Elements
  readonly settings: Settings
  readonly live: boolean
  /** True to show the first problem at the start, or the end if there is none. */
  readonly opensAtProblem: boolean
  readonly changed: () => void
}

/** Draws are at most this often while output arrives. Milliseconds. */
const LIVE_DRAW_MS = 100
/** Wait before what failed is tried again by itself. Milliseconds. */
const RETRY_MS = 2_000
/** How often the marks of a live log are read again. Milliseconds. */
const LIVE_MARKS_MS = 5_000
let opened = 0

export class Log {
  readonly #name: LogName
  readonly #source: LineSource
  readonly #search: Search
  readonly #marks: Marks
  readonly #opensAtProblem: boolean
  readonly #view: View
  readonly #abort = new AbortController()
  readonly #changed: () => void
  #follower: Follower | undefined
  #isLive: boolean
  #isLoaded = false
  /** What `open` was asked to mark. */
  #wanted: readonly [number, number] | undefined
  #error: unknown
  #current = -1
  #seen = 0
  #marksTimer: ReturnType<typeof setTimeout> | undefined
  #drawTimer: ReturnType<typeof setTimeout> | undefined
  #retryTimer: ReturnType<typeof setTimeout> | undefined
  #state: LogState | undefined

  constructor(name: LogName, options: LogOptions) {
    this.#name = name
    this.#isLive = options.live
    this.#opensAtProblem = options.opensAtProblem
    this.#changed = options.changed
    this.#source = new LineSource(
      (range, signal) => this.#load(range, signal),
      () => this.#arrived(),
    )
    this.#search = new Search(
      (query, signal) =>
        client.builds.searchLog(name.buildId, { signal, query: { ...query, stream: name.stream, attempt: name.attempt } }),
      () => this.#found(),
    )
    this.#marks = new Marks(
      (signal) => client.builds.logMarks(name.buildId, { signal, query: { stream: name.stream, attempt: name.attempt } }),
      () => this.#arrived(),
    )
    this.#view = new View({
      elements: options.elements,
      settings: options.settings,
      source: this.#source,
      search: this.#search,
      marks: this.#marks,
      drawn: () => this.#drawn(),
    })
    this.#view.isFollowing = options.live
    this.#abort.signal.addEventListener(
      'abort',
      onReturn(() => this.retry()),
    )
    document.addEventListener('selectionchange', () => this.#selected(), { signal: this.#abort.signal })
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', () => this.#view.changeTheme(), { signal: this.#abort.signal })
    const theme = new MutationObserver(() => this.#view.changeTheme())
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    this.#abort.signal.addEventListener('abort', () => theme.disconnect())
  }

  /** Reads the first and the marked lines, and follows a live stream. */
  async open(marked: readonly [number, number] | undefined): Promise<void> {
    this.#wanted = marked
    const starts = new Set([0, marked === undefined ? 0 : marked[0] - (marked[0] % BLOCK_LINES)])
    const reads = [...starts].map((from) => this.#load({ from, count: BLOCK_LINES }, this.#abort.signal))
    try {
      const blocks = await Promise.all(reads)
      for (const block of blocks) this.#source.add(block)
      this.#view.startedAt = blocks[0]?.times[0]?.[1]
      this.#seen = this.#source.total
      this.#isLoaded = true
      if (marked !== undefined) this.mark(marked, true)
    } catch (error) {
      if (this.#abort.signal.aborted) return
      // A step that has begun has no stream before its first output.
      this.#error = this.#isLive && isMissing(error) ? undefined : error
      this.#isLoaded = true
    }
    void this.#loadMarks(marked === undefined && this.#opensAtProblem)
    if (this.#isLive) this.#follow()
    this.#arrived()
  }

  close(): void {
    this.#abort.abort()
    clearTimeout(this.#drawTimer)
    clearTimeout(this.#marksTimer)
    clearTimeout(this.#retryTimer)
    this.#follower?.close()
    this.#search.close()
    this.#source.close()
    this.#view.close()
  }

  get view(): View {
    return this.#view
  }

  get state(): LogState {
    this.#state ??= {
      total: this.#source.total,
      isLoaded: this.#isLoaded,
      error: this.#error ?? this.#source.error,
      isFollowing: this.#view.isFollowing,
      isLive: this.#isLive,
      unseen: this.#view.isFollowing ? 0 : Math.max(0, this.#source.total - this.#seen),
      marked: this.#view.marked,
      matches: this.#search.matches,
      current: this.#search.matches[this.#current],
      isSearching: this.#search.isBusy,
      hasMoreMatches: this.#search.hasMore,
      searchError: this.#search.error,
      hasFolds: this.#view.hasFolds,
      problems: this.#marks.problems,
    }
    return this.#state
  }

  /** Marks lines, and brings them into view with `shows`. */
  mark(range: readonly [number, number] | undefined, shows = false): void {
    this.#view.marked = range
    if (range !== undefined && shows) {
      this.#source.grow(this.#source.total)
      this.#view.show(Math.min(range[0], Math.max(0, this.#source.total - 1)))
    }
    this.#view.redraw()
    this.#tell()
  }

  /** Marks a line, or the range up to it. */
  markLine(line: number, isRange: boolean): readonly [number, number] {
    const range = isRange ? extended(this.#view.marked, line) : ([line, line] as const)
    this.mark(range)
    return range
  }

  /** Searches. An empty text ends the search. */
  search(wanted: Wanted): void {
    this.#current = -1
    this.#view.current = undefined
    if (wanted.q !== '') this.#view.isFollowing = false
    void this.#search.start(wanted)
  }

  /** Shows the next match, or the one before. */
  showMatch(step: 1 | -1): void {
    const { matches } = this.#search
    if (matches.length === 0) return
    const next = this.#current < 0 ? this.#search.indexFrom(this.#view.linesInView[0]) : this.#current + step
    this.#current = (next + matches.length) % matches.length
    const match = matches[this.#current]
    this.#view.current = match
    if (match !== undefined) this.#view.show(match.line)
    this.#tell()
  }

  /** Shows the next problem, or the one before. Resolves to false if the log has none. */
  async showProblem(step: 1 | -1): Promise<boolean> {
    if (this.#isLive) await this.#marks.load(this.#abort.signal)
    const problem = this.#marks.move(this.#marks.current?.line ?? this.#view.linesInView[0] - 1, step)
    if (problem === undefined) return false
    this.#view.show(problem.line)
    this.#tell()
    return true
  }

  /** Marks the lines that another log lacks. */
  set newLines(lines: ReadonlySet<number>) {
    this.#view.newLines = lines
    this.#view.redraw()
  }

  /** Shows the end, and follows what arrives. */
  toEnd(): void {
    this.#view.isFollowing = this.#isLive
    this.#view.toEnd()
    this.#tell()
  }

  /** Stops to follow, or follows again from the end. */
  toggleFollow(): void {
    if (!this.#view.isFollowing) return this.toEnd()
    this.#view.isFollowing = false
    this.#seen = this.#source.total
    this.#tell()
  }

  /** Returns the text of the marked lines, else of those that the selection touches; undefined if there are none or too many. */
  async readSelected(): Promise<string | undefined> {
    const range = this.#view.marked ?? this.#view.selectedLines()
    return range === undefined ? undefined : readText((lines, signal) => this.#load(lines, signal), range, this.#abort.signal)
  }

  /** Tries again what has failed: the start of the log or of its follower, or reads of lines. */
  retry(): void {
    const hasFailed = this.#error !== undefined
    if (!hasFailed && this.#source.error === undefined) return
    this.#error = undefined
    if (hasFailed && this.#follower !== undefined) void this.#follower.start()
    else if (hasFailed) {
      this.#isLoaded = false
      void this.open(this.#wanted)
    }
    this.#source.retry()
  }

  #load(range: { from: number; count: number }, signal: AbortSignal): Promise<LogLines> {
    const { buildId, attempt, stream } = this.#name
    return client.builds.logLines(buildId, { signal, query: { stream, attempt, ...range } })
  }

  /** Reads the marks, and while the log is live again after a while. */
  async #loadMarks(shows: boolean): Promise<void> {
    await this.#marks.load(this.#abort.signal)
    clearTimeout(this.#marksTimer)
    if (this.#isLive && !this.#abort.signal.aborted)
      this.#marksTimer = setTimeout(() => void this.#loadMarks(false), LIVE_MARKS_MS)
    if (this.#abort.signal.aborted || !shows || !this.#view.isAtStart) return
    if (!(await this.showProblem(1))) this.toEnd()
  }

  #follow(): void {
    const { buildId, attempt, stream } = this.#name
    opened += 1
    const id = `log ${opened}`
    this.#follower = new Follower({
      source: this.#source,
      loadLast: () => loadLastLine((range, signal) => this.#load(range, signal), this.#name, this.#abort.signal),
      followBytes: (offset, listen) => followTopics(id, [`log:${buildId}:${attempt}:${stream}:${offset}`], listen),
      now,
      ended: () => {
        this.#isLive = false
        this.#view.isFollowing = false
        this.#arrived()
        void this.#loadMarks(false)
      },
      failed: (error) => {
        this.#error = error
        this.#arrived()
      },
    })
    void this.#follower.start()
  }

  #arrived(): void {
    if (isWorthRepeating(this.#error ?? this.#source.error))
      this.#retryTimer ??= setTimeout(() => {
        this.#retryTimer = undefined
        this.retry()
      }, RETRY_MS)
    this.#drawTimer ??= setTimeout(
      () => {
        this.#drawTimer = undefined
        this.#view.redraw()
        this.#tell()
      },
      this.#isLive && this.#isLoaded ? LIVE_DRAW_MS : 0,
    )
  }

  #found(): void {
    if (this.#current < 0 && this.#search.matches.length > 0) this.showMatch(1)
    this.#view.redraw()
    this.#tell()
  }

  #drawn(): void {
    if (this.#view.isFollowing || this.#view.isAtEnd) this.#seen = this.#source.total
    this.#tell()
  }

  #selected(): void {
    if (!this.#view.isFollowing || this.#view.selectedLines() === undefined) return
    this.#view.isFollowing = false
    this.#tell()
  }

  /** Tells of a change, if there is one. */
  #tell(): void {
    const before = this.#state
    this.#state = undefined
    const after = this.state
    const isSame = before !== undefined && (Object.keys(after) as (keyof LogState)[]).every((key) => after[key] === before[key])
    if (isSame) this.#state = before
    else this.#changed()
  }
}
