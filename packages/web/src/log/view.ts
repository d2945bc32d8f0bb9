/** The rows of a log in a scrolling element, outside of React: what is drawn where, and what the scroll bar means. */
import type { Theme } from '@windlass/ansi'
import { formatTime, type Times } from './rows/format.ts'
import type { Marks } from './lines/marks.ts'
import { plainHeight, RowHeights } from './rows/row-heights.ts'
import { Rows, type Row } from './rows/rows.ts'
import type { Match, Search } from './lines/search.ts'
import { Segments } from './rows/segments.ts'
import { Sizes } from './rows/sizes.ts'
import type { LineSource } from './lines/source.ts'
import {
  afterBar,
  clamp,
  endOf,
  isAtOrAfter,
  moveBy,
  reveal,
  rowsInView,
  SPARE_ROWS,
  spacerHeight,
  toBar,
  TOP,
  type Anchor,
  type Geometry,
} from './rows/window.ts'

/** Pauses longer than this are drawn. Milliseconds. */
const LEAST_GAP_MS = 5_000
/** After this time without a movement, the bar shows the place again. Milliseconds. */
const REST_MS = 150
/** A smaller difference is one of rounding. Pixels. */
const LEAST_MOVE = 0.5
/** Heights of rows change what is in view, which changes the rows. */
const MAX_PASSES = 3

export interface Elements {
  readonly viewer: HTMLElement
  readonly scroller: HTMLElement
  readonly spacer: HTMLElement
  readonly rows: HTMLElement
}

export interface Settings {
  readonly wraps: boolean
  readonly times: Times
  readonly showsControls: boolean
}

export interface ViewOptions {
  readonly elements: Elements
  readonly source: LineSource
  readonly search: Search
  readonly marks: Marks
  readonly settings: Settings
  /** Called after each drawing. */
  readonly drawn: () => void
}

export class View {
  readonly #options: ViewOptions
  readonly #rows: Rows
  readonly #abort = new AbortController()
  #settings: Settings
  #anchor: Anchor = TOP
  #bar = 0
  #direction: 1 | -1 = 1
  #frame: number | undefined
  #rest: ReturnType<typeof setTimeout> | undefined
  readonly #heights: RowHeights
  readonly #sizes: Sizes
  #theme: Theme
  #segments = new Segments(0)
  /** Lines of the headings of closed folds. */
  readonly #closed = new Set<number>()
  isFollowing = false
  /** Marked lines, first and last. */
  marked: readonly [number, number] | undefined
  current: Match | undefined
  /** Lines that another log lacks. */
  newLines: ReadonlySet<number> = new Set()

  constructor(options: ViewOptions) {
    this.#options = options
    this.#settings = options.settings
    const { elements, settings } = options
    const { scroller } = elements
    const { signal } = this.#abort
    this.#rows = new Rows(elements.rows)
    this.#theme = themeOf(elements.viewer)
    this.#heights = new RowHeights(settings.wraps)
    this.#sizes = new Sizes(elements, {
      wraps: settings.wraps,
      signal,
      changed: () => {
        this.#heights.clear()
        this.redraw()
      },
    })
    scroller.addEventListener('scroll', () => this.#scrolled(), { passive: true, signal })
    scroller.addEventListener('wheel', (event) => this.#wheeled(event), { passive: true, signal })
  }

  close(): void {
    this.#abort.abort()
    clearTimeout(this.#rest)
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame)
    // Another log may be drawn into the same element.
    this.#options.elements.rows.replaceChildren()
  }

  /** Draws once in the next frame. */
  redraw(): void {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined
      this.#draw()
    })
  }

  set settings(settings: Settings) {
    if (settings.wraps !== this.#settings.wraps) {
      this.#alignTop()
      this.#heights.reset(settings.wraps)
      this.#sizes.reset(settings.wraps)
    }
    this.#settings = settings
    this.redraw()
  }

  /** Draws again after the colors of the page have changed. */
  changeTheme(): void {
    this.#theme = themeOf(this.#options.elements.viewer)
    this.redraw()
  }

  /** Moves the row at the top to its start, or to the next one if less than half of it is in view: its part above the view has another height then. */
  #alignTop(): void {
    const { row, offset } = this.#anchor
    const { rows, heightOf } = this.#geometry()
    this.#anchor = { row: offset > heightOf(row) / 2 ? Math.min(row + 1, rows - 1) : row, offset: 0 }
  }

  /** First and last line in view. */
  get linesInView(): readonly [number, number] {
    const { first, last } = rowsInView(this.#anchor, this.#geometry())
    return [this.#segments.lineOf(first), this.#segments.lineOf(Math.max(first, last))]
  }

  get isAtStart(): boolean {
    return this.#anchor.row === 0 && this.#anchor.offset === 0
  }

  get isAtEnd(): boolean {
    return isAtOrAfter(this.#anchor, endOf(this.#geometry()))
  }

  /** Opens the folds around a line and brings it into view. */
  show(line: number): void {
    for (const { from, to } of this.#folds.values()) if (line > from && line <= to) this.#closed.delete(from)
    this.#arrange()
    this.isFollowing = false
    this.#anchor = reveal(this.#segments.rowOf(line), this.#anchor, this.#geometry())
    this.#moved()
  }

  toStart(): void {
    this.isFollowing = false
    this.#anchor = TOP
    this.#moved()
  }

  toEnd(): void {
    this.#arrange()
    this.#anchor = endOf(this.#geometry())
    this.#moved()
  }

  /** Moves by pixels. */
  move(pixels: number): void {
    if (pixels < 0) this.isFollowing = false
    this.#anchor = moveBy(this.#anchor, pixels, this.#geometry())
    this.#direction = pixels < 0 ? -1 : 1
    this.#moved()
  }

  /** Opens or closes the fold whose heading is this line. Returns false if there is none. */
  toggleFold(line: number): boolean {
    if (!this.#folds.has(line)) return false
    if (!this.#closed.delete(line)) this.#closed.add(line)
    this.#keepTopLine()
    return true
  }

  /** Closes all folds, or opens them if all are closed. */
  toggleFolds(): void {
    const headings = [...this.#folds.keys()]
    const isAll = headings.every((line) => this.#closed.has(line))
    this.#closed.clear()
    if (!isAll) for (const line of headings) this.#closed.add(line)
    this.#keepTopLine()
  }

  get #folds(): Marks['folds'] {
    return this.#options.marks.folds
  }

  get hasFolds(): boolean {
    return this.#folds.size > 0
  }

  /** Returns the lines that a selection of the browser touches. */
  selectedLines(): readonly [number, number] | undefined {
    return this.#rows.selectedLines()
  }

  #keepTopLine(): void {
    const line = this.#segments.lineOf(this.#anchor.row)
    this.#arrange()
    this.#anchor = { row: this.#segments.rowOf(line), offset: 0 }
    this.#moved()
  }

  #moved(): void {
    this.redraw()
    this.#restLater()
  }

  #arrange(): void {
    const closed = [...this.#closed].flatMap((line) => this.#folds.get(line) ?? [])
    this.#segments = new Segments(this.#options.source.total, closed)
  }

  #geometry(): Geometry {
    return {
      rows: Math.max(1, this.#segments.rows),
      view: this.#sizes.height,
      average: this.#heights.usual,
      heightOf: (row) => this.#heights.of(this.#segments.lineOf(row)),
    }
  }

  #scrolled(): void {
    const { scrollTop } = this.#options.elements.scroller
    const step = scrollTop - this.#bar
    if (Math.abs(step) < LEAST_MOVE) return
    if (step < 0) this.isFollowing = false
    this.#direction = step < 0 ? -1 : 1
    this.#anchor = afterBar(this.#anchor, { from: this.#bar, to: scrollTop }, this.#geometry())
    this.#bar = scrollTop
    this.#moved()
  }

  /** Moves where the bar cannot, because it is at its end before the rows are. */
  #wheeled({ deltaY, ctrlKey }: WheelEvent): void {
    if (ctrlKey) return
    if (deltaY < 0) this.isFollowing = false
    const { scroller } = this.#options.elements
    const isStuck = deltaY < 0 ? scroller.scrollTop <= 0 : scroller.scrollTop >= scroller.scrollHeight - scroller.clientHeight - 1
    if (isStuck) this.move(deltaY)
  }

  #restLater(): void {
    clearTimeout(this.#rest)
    this.#rest = setTimeout(() => {
      // The event of a movement comes with the next frame. The bar must not take back what is not drawn yet.
      if (this.#isMoved) this.#scrolled()
      else this.#syncBar()
    }, REST_MS)
  }

  /** True if the bar was moved since its place was read last. */
  get #isMoved(): boolean {
    return Math.abs(this.#options.elements.scroller.scrollTop - this.#bar) >= LEAST_MOVE
  }

  #syncBar(): void {
    const { scroller, spacer } = this.#options.elements
    this.#heights.settle()
    const geometry = this.#geometry()
    const height = `${spacerHeight(geometry)}px`
    if (spacer.style.height !== height) spacer.style.height = height
    const bar = toBar(this.#anchor, geometry)
    if (Math.abs(scroller.scrollTop - bar) >= 1) scroller.scrollTop = bar
    this.#bar = scroller.scrollTop
  }

  /** Draws the rows in view. Without wrapping no layout is read between the changes, so that the browser lays out once in a frame. */
  #draw(): void {
    const { elements, drawn } = this.#options
    const rowsBefore = this.#segments.rows
    this.#arrange()
    for (let pass = 0; pass < MAX_PASSES; pass += 1) {
      this.#anchor = this.isFollowing ? endOf(this.#geometry()) : clamp(this.#anchor, this.#geometry())
      if (!this.#measure(this.#drawRows())) break
    }
    const line = this.#segments.lineOf(this.#anchor.row)
    const top = this.#rows.topOf(line, (one) => this.#heights.of(one)) + this.#anchor.offset
    elements.rows.style.transform = `translateY(${-Math.round(top)}px)`
    if (this.#segments.rows !== rowsBefore || this.isFollowing) this.#syncBar()
    drawn()
  }

  #drawRows(): readonly Row[] {
    const { source } = this.#options
    const { first, last } = rowsInView(this.#anchor, this.#geometry())
    const spare = this.#settings.wraps ? SPARE_ROWS.wrapped : SPARE_ROWS.plain
    const from = Math.max(0, first - spare)
    const to = Math.min(this.#segments.rows - 1, last + spare)
    if (to < from) {
      this.#rows.draw([])
      return []
    }
    source.want(this.#segments.lineOf(from), this.#segments.lineOf(to), this.#direction)
    const rows: Row[] = []
    for (let row = from; row <= to; row += 1) rows.push(this.#toRow(this.#segments.lineOf(row)))
    this.#rows.draw(rows)
    return rows
  }

  #toRow(line: number): Row {
    const { source, search, marks } = this.#options
    const content = source.lineAt(line)
    const before = line === 0 ? undefined : source.lineAt(line - 1)?.at
    const gap = before === undefined || content?.at === undefined ? 0 : content.at - before
    const { times, showsControls } = this.#settings
    return {
      line,
      content,
      time: formatTime(times, content?.at, { start: source.lineAt(0)?.at ?? this.startedAt, before }),
      gapMs: gap > LEAST_GAP_MS ? gap : 0,
      hits: search.inLine(line),
      current: this.current?.line === line ? this.current : undefined,
      isMarked: this.marked !== undefined && line >= this.marked[0] && line <= this.marked[1],
      problem: marks.problemAt(line),
      isNew: this.newLines.has(line),
      fold: this.#foldAt(line),
      theme: this.#theme,
      showsControls,
    }
  }

  /** Time of the first line. Epoch milliseconds. */
  startedAt: number | undefined

  #foldAt(line: number): Row['fold'] {
    const fold = this.#folds.get(line)
    if (fold === undefined) return undefined
    const isClosed = this.#closed.has(line)
    const hits = isClosed ? this.#options.search.countBetween(fold.from, fold.to) : 0
    return { isClosed, lines: fold.to - fold.from, hits }
  }

  /** Notes the heights of the drawn rows. Returns true if one is not as it was expected. */
  #measure(rows: readonly Row[]): boolean {
    const plain = rows.map(({ line, gapMs }) => [line, plainHeight(gapMs)] as const)
    return this.#heights.note(this.#settings.wraps ? this.#rows.heights() : plain)
  }
}

function themeOf(element: HTMLElement): Theme {
  const scheme = getComputedStyle(element).colorScheme
  if (scheme === 'dark' || scheme === 'light') return scheme
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}
