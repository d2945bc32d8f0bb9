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
 * stays the same row while others come and go. `onEnd` is called for a move past the last row.
 */
export function useListCursor(keys: readonly string[], frame: RefObject<HTMLElement | null>, onEnd?: () => void): ListCursor {
  const [key, setKey] = useState<string>()
  const index = key === undefined ? -1 : keys.indexOf(key)
  useEffect(() => {
    if (key === undefined) return
    const row = frame.current?.querySelector(`[data-key="${CSS.escape(key)}"]`)
    if (row?.contains(document.activeElement) === false) row.querySelector('a')?.focus({ preventScroll: true })
    row?.scrollIntoView({ block: 'nearest' })
  }, [key, frame])
  return {
    key,
    index,
    move(by) {
      if (by > 0 && index === keys.length - 1) onEnd?.()
      const next = keys[Math.min(Math.max(index + by, 0), keys.length - 1)]
      if (next !== undefined) setKey(next)
    },
    onFocus({ target }) {
      const row = target.closest<HTMLElement>('[data-key]')
      if (row?.dataset['key'] !== undefined) setKey(row.dataset['key'])
    },
  }
}
