/**
 * The arithmetic of a window over many rows. Its state is an anchor, the row at the top and how far it is scrolled out, and not the position of the scroll
 * bar: browsers limit the height of an element, and rows differ in height. The bar stands for the share of rows.
 */

/** Height of a row without wrapping. Pixels. */
export const ROW_HEIGHT = 20
/** Maximum height of the element that gives the scroll bar its length. Browsers stop at 16.7 million and more. Pixels. */
export const MAX_SPACER = 8_000_000
/** Rows that are drawn outside of the view in each direction. Those that wrap are measured before they come into view. */
export const SPARE_ROWS = { plain: 4, wrapped: 12 } as const
/** A movement of the bar by this number of screens or more is a jump to a share. A smaller one moves by its pixels. */
const JUMP_SCREENS = 3

export interface Anchor {
  /** Index of the first row in view. */
  readonly row: number
  /** Part of that row above the view. Pixels, 0 or more. */
  readonly offset: number
}

export interface Geometry {
  readonly rows: number
  /** Height of the view. Pixels. */
  readonly view: number
  /** Average height of a row. Pixels. */
  readonly average: number
  /** Returns the height of a row if it was measured, otherwise an estimate. Pixels. */
  heightOf(row: number): number
}

export const TOP: Anchor = { row: 0, offset: 0 }

/** Returns the anchor at which the last row ends at the end of the view. */
export function endOf(geometry: Geometry): Anchor {
  const { rows, view, heightOf } = geometry
  let rest = view
  for (let row = rows - 1; row >= 0; row -= 1) {
    rest -= heightOf(row)
    if (rest <= 0) return { row, offset: -rest }
  }
  return TOP
}

/** Returns true if the first anchor is at or after the second one. */
export function isAtOrAfter(anchor: Anchor, other: Anchor): boolean {
  return anchor.row > other.row || (anchor.row === other.row && anchor.offset >= other.offset)
}

/** Returns the anchor moved by pixels, within the rows. */
export function moveBy(anchor: Anchor, pixels: number, geometry: Geometry): Anchor {
  let { row } = anchor
  let offset = anchor.offset + pixels
  while (offset < 0 && row > 0) {
    row -= 1
    offset += geometry.heightOf(row)
  }
  while (row < geometry.rows - 1 && offset >= geometry.heightOf(row)) {
    offset -= geometry.heightOf(row)
    row += 1
  }
  return clamp({ row, offset: Math.max(0, offset) }, geometry)
}

/** Returns the anchor, or the nearest one that leaves no space behind the last row. */
export function clamp(anchor: Anchor, geometry: Geometry): Anchor {
  const end = endOf(geometry)
  return isAtOrAfter(anchor, end) ? end : anchor
}

/** Returns the anchor that shows a row, in the middle of the view if it is not in view already. */
export function reveal(row: number, anchor: Anchor, geometry: Geometry): Anchor {
  const { first, last } = rowsInView(anchor, geometry)
  if (row > first && row < last - 1) return anchor
  return moveBy({ row, offset: 0 }, -Math.floor(geometry.view / 2), geometry)
}

/** Returns the first and the last row of which a part is in view. */
export function rowsInView(anchor: Anchor, { rows, view, heightOf }: Geometry): { first: number; last: number } {
  let last = anchor.row
  for (let bottom = heightOf(last) - anchor.offset; bottom < view && last < rows - 1;) {
    last += 1
    bottom += heightOf(last)
  }
  return { first: anchor.row, last: Math.min(last, rows - 1) }
}

/** Returns the height of the element that gives the scroll bar its length. Pixels. */
export function spacerHeight({ rows, average }: Geometry): number {
  return Math.min(Math.ceil(rows * average), MAX_SPACER)
}

/** Returns the length that the bar can move. Pixels. */
function barLength(geometry: Geometry): number {
  return Math.max(0, spacerHeight(geometry) - geometry.view)
}

/** Returns the position of the bar for an anchor. Pixels. */
export function toBar(anchor: Anchor, geometry: Geometry): number {
  const end = positionOf(endOf(geometry), geometry)
  return end === 0 ? 0 : Math.min(1, positionOf(anchor, geometry) / end) * barLength(geometry)
}

/** Returns the anchor after the bar moved from one position to another. Pixels. */
export function afterBar(anchor: Anchor, bar: { from: number; to: number }, geometry: Geometry): Anchor {
  const step = bar.to - bar.from
  if (Math.abs(step) < JUMP_SCREENS * geometry.view) return moveBy(anchor, step, geometry)
  const length = barLength(geometry)
  return fromShare(length === 0 ? 0 : bar.to / length, geometry)
}

/** Returns the anchor at a share of the way from the start (0) to the end (1). */
function fromShare(share: number, geometry: Geometry): Anchor {
  if (share >= 1) return endOf(geometry)
  const position = Math.max(0, share) * positionOf(endOf(geometry), geometry)
  const row = Math.floor(position)
  return clamp({ row, offset: (position - row) * geometry.heightOf(row) }, geometry)
}

/** Returns the anchor as a number of rows. */
function positionOf({ row, offset }: Anchor, { heightOf }: Geometry): number {
  return row + offset / heightOf(row)
}
