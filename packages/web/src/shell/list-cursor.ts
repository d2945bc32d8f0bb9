/** The row of a list that the keys act on. */
import { useEffect, useState, type FocusEvent, type RefObject } from 'react'

export interface ListCursor {
  /** Key of the row; undefined until a key press or the focus has chosen one. */
  readonly key: string | undefined
  /** Place of the row; -1 without one. */
  readonly index: number
  readonly move: (by: number) => void
  /** For the element around the list: the row that gets the focus is that of the cursor. */
  readonly onFocus: (event: FocusEvent) => void
}

/**
 * Keeps the cursor of a list whose rows have their key as `data-key`. Its row has the focus, so that it is visible, Enter opens it like any link, and it
 * stays the same row while others come and go. `onEnd` is called for a move past the last row. Only a move scrolls: a row that scrolled when a press of the
 * pointer focuses it would leave the pointer before its release, and the click would be lost.
 */
export function useListCursor(keys: readonly string[], frame: RefObject<HTMLElement | null>, onEnd?: () => void): ListCursor {
  const [cursor, setCursor] = useState<{ readonly key: string; readonly isMove: boolean }>()
  const key = cursor?.key
  const index = key === undefined ? -1 : keys.indexOf(key)
  useEffect(() => {
    if (cursor?.isMove !== true) return
    const row = frame.current?.querySelector(`[data-key="${CSS.escape(cursor.key)}"]`)
    if (row?.contains(document.activeElement) === false) row.querySelector('a')?.focus({ preventScroll: true })
    row?.scrollIntoView({ block: 'nearest' })
  }, [cursor, frame])
  return {
    key,
    index,
    move(by) {
      if (by > 0 && index === keys.length - 1) onEnd?.()
      const next = keys[Math.min(Math.max(index + by, 0), keys.length - 1)]
      if (next !== undefined) setCursor({ key: next, isMove: true })
    },
    onFocus({ target }) {
      const focused = target.closest<HTMLElement>('[data-key]')?.dataset['key']
      if (focused !== undefined) setCursor((old) => (old?.key === focused ? old : { key: focused, isMove: false }))
    },
  }
}
