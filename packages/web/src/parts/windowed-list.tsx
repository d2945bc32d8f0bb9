/** A list of rows of one height that keeps only the visible ones in the document. */
import { useEffect, useLayoutEffect, useRef, useState, type Key, type ReactElement, type ReactNode } from 'react'

export interface WindowedListProps<T> {
  readonly label: string
  readonly rows: readonly T[]
  /** Height of a row in pixels. `auto` for rows of different heights: all are written, and the browser skips the drawing of those out of view. */
  readonly rowHeight: number | 'auto'
  readonly keyOf: (row: T) => Key
  readonly render: (row: T, index: number) => ReactNode
  /** A row that is scrolled into view when it becomes another one. */
  readonly reveal?: number | undefined
}

/** Rows outside the view that stay in the document, in each direction. */
const SPARE = 12
/** Lists up to this length are written as a whole, so that the search of the browser finds everything. */
const WHOLE = 150

interface Range {
  readonly from: number
  readonly to: number
}

/** Returns the rows to draw. Heights and positions in pixels; `top` is that of the list relative to the top of the view. */
export function rangeOf(options: {
  readonly top: number
  readonly view: number
  readonly rowHeight: number
  readonly count: number
}): Range {
  const { top, view, rowHeight, count } = options
  const first = Math.floor(-top / rowHeight) - SPARE
  const last = Math.ceil((view - top) / rowHeight) + SPARE
  return { from: Math.min(Math.max(first, 0), count), to: Math.min(Math.max(last, 0), count) }
}

export function WindowedList<T>({ label, rows, rowHeight, keyOf, render, reveal }: WindowedListProps<T>): ReactElement {
  const list = useRef<HTMLDivElement>(null)
  const [range, setRange] = useState<Range>({ from: 0, to: WHOLE })
  const height = rowHeight === 'auto' ? 0 : rowHeight
  const isWhole = height === 0 || rows.length <= WHOLE

  useEffect(() => {
    if (isWhole) return undefined
    const measure = (): void => {
      const top = list.current?.getBoundingClientRect().top ?? 0
      const next = rangeOf({ top, view: innerHeight, rowHeight: height, count: rows.length })
      setRange((old) => (old.from === next.from && old.to === next.to ? old : next))
    }
    measure()
    document.addEventListener('scroll', measure, { passive: true, capture: true })
    addEventListener('resize', measure)
    return () => {
      document.removeEventListener('scroll', measure, { capture: true })
      removeEventListener('resize', measure)
    }
  }, [isWhole, height, rows.length])

  useLayoutEffect(() => {
    if (reveal === undefined || list.current === null || isWhole) return
    const top = list.current.getBoundingClientRect().top + reveal * height
    if (top < 80 || top > innerHeight - 80) scrollBy({ top: top - innerHeight / 2 })
  }, [reveal, height, isWhole])

  const { from, to } = isWhole ? { from: 0, to: rows.length } : range
  return (
    <div
      ref={list}
      role="list"
      aria-label={label}
      style={isWhole ? undefined : { paddingTop: from * height, paddingBottom: Math.max(0, rows.length - to) * height }}
    >
      {rows.slice(from, to).map((row, index) => (
        <div key={keyOf(row)} role="listitem" data-key={keyOf(row)} aria-setsize={rows.length} aria-posinset={from + index + 1}>
          {render(row, from + index)}
        </div>
      ))}
    </div>
  )
}
