/** A short text about an element, while it has the pointer or the focus. */
import { useEffect, useId, useRef, useState, type DOMAttributes, type ReactElement, type ReactNode } from 'react'
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

type Handlers<E extends Element> = Pick<
  DOMAttributes<E>,
  'onPointerEnter' | 'onPointerLeave' | 'onPointerDown' | 'onFocus' | 'onBlur' | 'onKeyDown'
>

interface Tip<E extends Element> {
  /** Handlers of the element, which call its own ones too. */
  readonly handlers: Handlers<E>
  /** Id of the tooltip while it is shown. */
  readonly id: string | undefined
  readonly tooltip: ReactNode
}

/** Returns what an element needs to show `text` as its tooltip; nothing without a text. Escape hides it. */
export function useTooltip<E extends Element>(
  text: ReactNode,
  own: Handlers<E> = {},
  boxOf: (element: E) => DOMRect = (element) => element.getBoundingClientRect(),
): Tip<E> {
  const id = useId()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const [place, setPlace] = useState<Place>()
  useEffect(() => () => clearTimeout(timer.current), [])
  const show = (element: E): void => setPlace(placeOf(boxOf(element), innerWidth))
  const hide = (): void => {
    clearTimeout(timer.current)
    setPlace(undefined)
  }
  const handlers: Handlers<E> = {
    onPointerEnter(event) {
      own.onPointerEnter?.(event)
      const { currentTarget } = event
      timer.current = setTimeout(() => show(currentTarget), DELAY_MS)
    },
    onPointerLeave(event) {
      own.onPointerLeave?.(event)
      hide()
    },
    onPointerDown(event) {
      own.onPointerDown?.(event)
      hide()
    },
    onFocus(event) {
      own.onFocus?.(event)
      if (event.target.matches(':focus-visible')) show(event.currentTarget)
    },
    onBlur(event) {
      own.onBlur?.(event)
      hide()
    },
    onKeyDown(event) {
      own.onKeyDown?.(event)
      if (event.key === 'Escape') hide()
    },
  }
  const isShown = place !== undefined && text !== undefined
  return {
    handlers,
    id: isShown ? id : undefined,
    tooltip:
      isShown &&
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
      ),
  }
}

/** Shows `text` for what is inside. */
export function Tooltip({ text, children }: { readonly text: ReactNode; readonly children: ReactNode }): ReactElement {
  const { handlers, id, tooltip } = useTooltip<HTMLSpanElement>(text, {}, (element) =>
    (element.firstElementChild ?? element).getBoundingClientRect(),
  )
  return (
    <span className={styles['target']} aria-describedby={id} {...handlers}>
      {children}
      {tooltip}
    </span>
  )
}
