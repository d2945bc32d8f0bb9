/** The elements of the rows that are drawn. They are reused, except those in a selection, which would lose it. */
import type { Theme } from '@windlass/ansi'
import { plural } from '@windlass/plan'
import { formatSpan } from '../looks/time.ts'
import { writeText } from './line-text.ts'
import styles from './log.module.css'
import type { Match } from './search.ts'
import type { Line } from './source.ts'

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
  readonly time: HTMLElement
  readonly text: HTMLElement
  row: Row | undefined
}

/** Rows in a selection that are kept outside of the window. */
const MAX_HELD = 500

export class Rows {
  readonly #layer: HTMLElement
  readonly #drawn = new Map<number, Drawn>()
  readonly #spare: Drawn[] = []

  /** `layer` holds the rows and nothing else. */
  constructor(layer: HTMLElement) {
    this.#layer = layer
  }

  /** Draws these rows, which are in order of their lines. */
  draw(rows: readonly Row[]): void {
    const wanted = new Set(rows.map(({ line }) => line))
    const held = this.#heldLines(wanted)
    for (const [line, drawn] of this.#drawn) {
      if (wanted.has(line) || held.has(line)) continue
      this.#drawn.delete(line)
      this.#spare.push(drawn)
    }
    let before: Element | null = null
    for (const row of rows) {
      const drawn = this.#drawn.get(row.line) ?? this.#take(row.line)
      if (!isSame(drawn.row, row)) write(drawn, row)
      before = this.#place(drawn.element, before, row.line, held)
    }
    for (const { element } of this.#spare.splice(rows.length)) element.remove()
    for (const { element } of this.#spare) element.remove()
  }

  /** Returns the position of a row in the layer. Pixels. */
  topOf(line: number): number {
    return this.#drawn.get(line)?.element.offsetTop ?? 0
  }

  /** Returns the height of each drawn row by line. Pixels. */
  heights(): Map<number, number> {
    return new Map([...this.#drawn].map(([line, { element }]) => [line, element.offsetHeight]))
  }

  /** Returns the lines that a selection of the browser touches. */
  selectedLines(): readonly [number, number] | undefined {
    const selection = getSelection()
    if (selection === null || selection.isCollapsed) return undefined
    const touched = [...this.#drawn].filter(([, { element }]) => selection.containsNode(element, true)).map(([line]) => line)
    return touched.length === 0 ? undefined : [Math.min(...touched), Math.max(...touched)]
  }

  #heldLines(wanted: ReadonlySet<number>): ReadonlySet<number> {
    const selection = getSelection()
    if (selection === null || selection.isCollapsed || !selection.containsNode(this.#layer, true)) return new Set()
    const held = [...this.#drawn].filter(([line, { element }]) => !wanted.has(line) && selection.containsNode(element, true))
    return held.length > MAX_HELD ? new Set() : new Set(held.map(([line]) => line))
  }

  #take(line: number): Drawn {
    const drawn = this.#spare.pop() ?? create()
    this.#drawn.set(line, drawn)
    return drawn
  }

  /** Puts a row behind the one before it, and behind held rows of earlier lines. Rows that stay in order do not move. */
  #place(element: HTMLElement, before: Element | null, line: number, held: ReadonlySet<number>): Element {
    let after = before
    for (;;) {
      const next: Element | null = after === null ? this.#layer.firstElementChild : after.nextElementSibling
      const number = Number(next instanceof HTMLElement ? next.dataset['line'] : Number.NaN)
      if (next === null || next === element || !held.has(number) || number > line) break
      after = next
    }
    const next = after === null ? this.#layer.firstElementChild : after.nextElementSibling
    if (next !== element) this.#layer.insertBefore(element, next)
    return element
  }
}

function isSame(old: Row | undefined, row: Row): boolean {
  if (old === undefined) return false
  for (const key of Object.keys(row) as (keyof Row)[]) if (key !== 'fold' && old[key] !== row[key]) return false
  return old.fold?.isClosed === row.fold?.isClosed && old.fold?.lines === row.fold?.lines && old.fold?.hits === row.fold?.hits
}

function create(): Drawn {
  const cell = (name: string, role: string): HTMLElement => {
    const element = document.createElement('div')
    element.className = styles[name] ?? ''
    if (role !== '') element.setAttribute('role', role)
    return element
  }
  const drawn = {
    element: cell('row', 'row'),
    gap: cell('gap', 'note'),
    number: cell('number', 'rowheader'),
    time: cell('time', 'cell'),
    text: cell('text', 'cell'),
  }
  drawn.element.append(drawn.number, drawn.text)
  return { ...drawn, row: undefined }
}

function write(drawn: Drawn, row: Row): void {
  const { element, gap, number, time, text } = drawn
  drawn.row = row
  element.dataset['line'] = String(row.line)
  element.ariaRowIndex = String(row.line + 1)
  element.toggleAttribute('data-marked', row.isMarked)
  element.toggleAttribute('data-new', row.isNew)
  if (row.problem === undefined) delete element.dataset['problem']
  else element.dataset['problem'] = row.problem
  element.toggleAttribute('data-loading', row.content === undefined)
  number.textContent = String(row.line + 1)
  writeFold(number, row.fold)
  gap.textContent = row.gapMs > 0 ? `${formatSpan(row.gapMs)} without output` : ''
  time.textContent = row.time
  const cells = [
    ...(row.gapMs > 0 ? [gap] : []),
    number,
    text,
    ...(row.fold?.isClosed ? [foldNote(row.fold)] : []),
    ...(row.problem === undefined ? [] : [noteOf('problem')]),
    ...(row.isNew ? [noteOf('new')] : []),
    ...(row.time === '' ? [] : [time]),
  ]
  element.replaceChildren(...cells)
  if (row.content === undefined) text.textContent = ''
  else writeText(text, row.content, row)
}

function writeFold(number: HTMLElement, fold: Row['fold']): void {
  if (fold === undefined) {
    delete number.dataset['fold']
    number.ariaExpanded = null
    return
  }
  number.dataset['fold'] = fold.isClosed ? 'closed' : 'open'
  number.ariaExpanded = String(!fold.isClosed)
}

function foldNote({ lines, hits }: NonNullable<Row['fold']>): HTMLElement {
  return noteOf(`${plural(lines, 'line')}${hits > 0 ? `, ${hits === 1 ? '1 match' : `${hits} matches`}` : ''}`)
}

function noteOf(text: string): HTMLElement {
  const note = document.createElement('span')
  note.className = styles['note'] ?? ''
  note.textContent = text
  return note
}
