/** A short text about an element, while it has the pointer or the focus. */
import { useId, useRef, useState, type ReactElement, type ReactNode } from 'react'
import { createPortal } from 'react-dom'
import styles from './float.module.css'

const DELAY_MS = 400
const MARGIN_PX = 8
/** Height that a tooltip may need above its element. Pixels. */
const ROOM_PX = 72

interface Place {
  readonly left: number
  readonly top: number
  readonly isAbove: boolean
}

/** Returns where the tooltip of an element goes: above it, or below where there is no room. */
export function placeOf(box: Pick<DOMRect, 'left' | 'right' | 'top' | 'bottom'>, viewWidth: number): Place {
  const isAbove = box.top > ROOM_PX
  const center = (box.left + box.right) / 2
  return {
    left: Math.min(Math.max(center, MARGIN_PX), viewWidth - MARGIN_PX),
    top: isAbove ? box.top - MARGIN_PX : box.bottom + MARGIN_PX,
    isAbove,
  }
}

/** Shows `text` for what is inside. Escape hides it. */
export function Tooltip({ text, children }: { readonly text: ReactNode; readonly children: ReactNode }): ReactElement {
  const id = useId()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const [place, setPlace] = useState<Place>()
  const show = (element: Element): void =>
    setPlace(placeOf((element.firstElementChild ?? element).getBoundingClientRect(), innerWidth))
  const hide = (): void => {
    clearTimeout(timer.current)
    setPlace(undefined)
  }
  return (
    <span
      className={styles['target']}
      aria-describedby={place === undefined ? undefined : id}
      onPointerEnter={({ currentTarget }) => {
        timer.current = setTimeout(() => show(currentTarget), DELAY_MS)
      }}
      onPointerLeave={hide}
      onPointerDown={hide}
      onFocus={({ currentTarget, target }) => target.matches(':focus-visible') && show(currentTarget)}
      onBlur={hide}
      onKeyDown={({ key }) => key === 'Escape' && hide()}
    >
      {children}
      {place !== undefined &&
        createPortal(
          <div
            id={id}
            role="tooltip"
            className={styles['tooltip']}
            data-above={place.isAbove}
            style={{ left: place.left, top: place.top }}
          >
            {text}
          </div>,
          document.body,
        )}
    </span>
  )
}
