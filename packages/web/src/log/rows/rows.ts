/** The elements of the rows that are drawn. They are reused, except those in a selection, which would lose it. */
import type { Theme } from '@windlass/ansi'
import { plural } from '@windlass/plan'
import { formatSpan } from '../../looks/time.ts'
import { writeText } from './line-text.ts'
import styles from '../log.module.css'
import type { Match } from '../lines/search.ts'
import type { Line } from '../lines/source.ts'

export interface Row {
  readonly line: number
  /** Absent until it is read. */
  readonly content: Line | undefined
  readonly time: string
  /** Time without output before the line. Milliseconds; 0 for none. */
  readonly gapMs: number
  readonly hits: readonly Match[] | undefined
  readonly current: Match | undefined
  readonly isMarked: boolean
  /** Set for a line with which a tool reports a failure; `current` for the one that was shown last. */
  readonly problem: 'problem' | 'current' | undefined
  /** True for a line that another log lacks. */
  readonly isNew: boolean
  /** The fold whose heading this is. */
  readonly fold: { readonly isClosed: boolean; readonly lines: number; readonly hits: number } | undefined
  readonly theme: Theme
  readonly showsControls: boolean
}

interface Drawn {
  readonly element: HTMLElement
  readonly gap: HTMLElement
  readonly number: HTMLElement
  /** The text of `number`. */
  readonly digits: Text
  readonly time: HTMLElement
  readonly text: HTMLElement
  /** What it shows. Undefined for a new one. */
  row: Row | undefined
}

/** Rows in a selection that are kept outside of the window. */
const MAX_HELD = 500

export class Rows {
  readonly #layer: HTMLElement
  readonly #byLine = new Map<number, Drawn>()
  /** In the order of their lines, which is that of the document. */
  #drawn: Drawn[] = []
  /** Rows that are not in the document. */
  #spare: Drawn[] = []

  /** `layer` holds the rows and nothing else. */
  constructor(layer: HTMLElement) {
    this.#layer = layer
  }

  /**
   * Draws these rows, which are in order of their lines. Reads no layout. Rows stay in the document where they are, so that a row which remains in
   * view is never moved.
   */
  draw(rows: readonly Row[]): void {
    const wanted = new Set(rows.map(({ line }) => line))
    const free = this.#freeRows(wanted)
    const before = this.#drawn
    const placed = new Set<Drawn>()
    const held = [...before.entries()].filter(
      ([, { row }]) => row !== undefined && this.#byLine.has(row.line) && !wanted.has(row.line),
    )
    this.#drawn = []
    let at = 0
    for (const row of rows) {
      // Held rows of earlier lines stay before this one, so free elements in front of them are passed.
      while ((held[0]?.[1].row?.line ?? Infinity) < row.line) {
        const [index, drawn] = held.shift() as [number, Drawn]
        this.#drawn.push(drawn)
        at = index + 1
      }
      const known = this.#byLine.get(row.line)
      const isPassed = (drawn: Drawn): boolean => placed.has(drawn) || (known !== undefined && free.has(drawn))
      while (before[at] !== undefined && isPassed(before[at] as Drawn)) at += 1
      const next = before[at]
      const drawn = known ?? (next !== undefined && free.has(next) ? next : this.#take(free))
      free.delete(drawn)
      write(drawn, row)
      this.#byLine.set(row.line, drawn)
      this.#drawn.push(drawn)
      placed.add(drawn)
      if (drawn === next) at += 1
      else this.#layer.insertBefore(drawn.element, next?.element ?? null)
    }
    this.#drawn.push(...held.map(([, drawn]) => drawn))
    for (const { element } of free) element.remove()
    if (free.size > 0) this.#spare = [...this.#spare, ...free].slice(0, rows.length)
  }

  /** Returns the distance of a row from the first one, without reading the layout. Pixels. */
  topOf(line: number, heightOf: (line: number) => number): number {
    let top = 0
    for (const { row } of this.#drawn) {
      if (row === undefined || row.line >= line) break
      top += heightOf(row.line)
    }
    return top
  }

  /** Returns the height of each drawn row by line. Pixels. */
  heights(): Map<number, number> {
    return new Map([...this.#byLine].map(([line, { element }]) => [line, element.offsetHeight]))
  }

  /** Returns the lines that a selection of the browser touches. */
  selectedLines(): readonly [number, number] | undefined {
    const selection = getSelection()
    if (selection === null || selection.isCollapsed) return undefined
    const touched = [...this.#byLine].filter(([, { element }]) => selection.containsNode(element, true)).map(([line]) => line)
    return touched.length === 0 ? undefined : [Math.min(...touched), Math.max(...touched)]
  }

  /** Returns the rows that are neither wanted nor held, and forgets their lines. */
  #freeRows(wanted: ReadonlySet<number>): Set<Drawn> {
    const held = this.#heldLines(wanted)
    const free = new Set<Drawn>()
    for (const [line, drawn] of this.#byLine) {
      if (wanted.has(line) || held.has(line)) continue
      this.#byLine.delete(line)
      free.add(drawn)
    }
    return free
  }

  #heldLines(wanted: ReadonlySet<number>): ReadonlySet<number> {
    const selection = getSelection()
    if (selection === null || selection.isCollapsed || !selection.containsNode(this.#layer, true)) return new Set()
    const held = [...this.#byLine].filter(([line, { element }]) => !wanted.has(line) && selection.containsNode(element, true))
    return held.length > MAX_HELD ? new Set() : new Set(held.map(([line]) => line))
  }

  #take(free: ReadonlySet<Drawn>): Drawn {
    const [first] = free
    return first ?? this.#spare.pop() ?? create()
  }
}

function create(): Drawn {
  const cell = (name: string, role: string): HTMLElement => {
    const element = document.createElement('div')
    element.className = styles[name] ?? ''
    element.setAttribute('role', role)
    return element
  }
  const [element, number, text] = [cell('row', 'row'), cell('number', 'rowheader'), cell('text', 'cell')]
  const digits = document.createTextNode('')
  number.append(digits)
  return { element, number, digits, text, gap: cell('gap', 'note'), time: cell('time', 'cell'), row: undefined }
}

/** Writes what differs from the row before: each change of the document costs time in the frame. */
function write(drawn: Drawn, row: Row): void {
  const { element, number, digits, row: old } = drawn
  drawn.row = row
  if (old?.line !== row.line) {
    element.dataset['line'] = String(row.line)
    element.ariaRowIndex = String(row.line + 1)
    digits.data = String(row.line + 1)
  }
  if (old?.isMarked !== row.isMarked) element.toggleAttribute('data-marked', row.isMarked)
  if (old?.isNew !== row.isNew) element.toggleAttribute('data-new', row.isNew)
  if (old?.problem !== row.problem) setOrDelete(element, 'problem', row.problem)
  if ((old?.content === undefined) !== (row.content === undefined) || old === undefined)
    element.toggleAttribute('data-loading', row.content === undefined)
  if (old?.fold?.isClosed !== row.fold?.isClosed) writeFold(number, row.fold)
  if (old === undefined || hasOtherCells(old, row)) writeCells(drawn, row)
  if (old?.gapMs !== row.gapMs) drawn.gap.textContent = row.gapMs > 0 ? `${formatSpan(row.gapMs)} without output` : ''
  if (old?.time !== row.time) drawn.time.textContent = row.time
  if (old === undefined || hasOtherText(old, row)) writeContent(drawn.text, row)
}

function setOrDelete(element: HTMLElement, name: string, value: string | undefined): void {
  if (value === undefined) delete element.dataset[name]
  else element.dataset[name] = value
}

function writeFold(number: HTMLElement, fold: Row['fold']): void {
  setOrDelete(number, 'fold', fold === undefined ? undefined : fold.isClosed ? 'closed' : 'open')
  number.ariaExpanded = fold === undefined ? null : String(!fold.isClosed)
}

/** Returns true if a row has other cells than before, or other notes. */
function hasOtherCells(old: Row, row: Row): boolean {
  const hasGap = (one: Row): boolean => one.gapMs > 0
  const hasTime = (one: Row): boolean => one.time !== ''
  const hasNotes = old.isNew || row.isNew || (old.problem ?? row.problem ?? old.fold ?? row.fold) !== undefined
  if (hasGap(old) !== hasGap(row) || hasTime(old) !== hasTime(row)) return true
  return hasNotes && notesOf(old).join('\n') !== notesOf(row).join('\n')
}

/** Returns what is written behind the text of a row. */
function notesOf({ fold, problem, isNew }: Row): string[] {
  const hits = fold === undefined || fold.hits === 0 ? '' : `, ${fold.hits === 1 ? '1 match' : `${fold.hits} matches`}`
  return [
    ...(fold?.isClosed === true ? [`${plural(fold.lines, 'line')}${hits}`] : []),
    ...(problem === undefined ? [] : ['problem']),
    ...(isNew ? ['new'] : []),
  ]
}

function writeCells({ element, gap, number, text, time }: Drawn, row: Row): void {
  const hasGap = row.gapMs > 0
  element.toggleAttribute('data-gap', hasGap)
  element.replaceChildren(...(hasGap ? [gap] : []), number, text, ...notesOf(row).map(noteOf), ...(row.time === '' ? [] : [time]))
}

function hasOtherText(old: Row, row: Row): boolean {
  return (
    old.content !== row.content ||
    old.hits !== row.hits ||
    old.current !== row.current ||
    old.theme !== row.theme ||
    old.showsControls !== row.showsControls
  )
}

function writeContent(text: HTMLElement, row: Row): void {
  if (row.content === undefined) text.replaceChildren()
  else writeText(text, row.content, row)
}

function noteOf(text: string): HTMLElement {
  const note = document.createElement('span')
  note.className = styles['note'] ?? ''
  note.textContent = text
  return note
}
