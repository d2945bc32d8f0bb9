/** Keeps what is below it in its place. */
import { useLayoutEffect, useRef, useState, type ReactElement, type ReactNode } from 'react'

/**
 * Keeps the height of its children while `isHeld`, so that rows below do not move under the pointer or the focus. What does not fit scrolls. An empty box is
 * not drawn at all, held or not: the gaps around it would come and go with the pointer.
 */
export function Steady({ isHeld, children }: { readonly isHeld: boolean; readonly children: ReactNode }): ReactElement {
  const box = useRef<HTMLDivElement>(null)
  const [height, setHeight] = useState<number>()
  useLayoutEffect(() => setHeight(isHeld ? (box.current?.offsetHeight ?? 0) : undefined), [isHeld])
  return (
    <div
      ref={box}
      data-steady={height !== undefined}
      style={height === undefined ? undefined : { height, display: height === 0 ? 'none' : undefined }}
    >
      {children}
    </div>
  )
}
