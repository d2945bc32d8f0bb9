/** Where the matches are in the log, beside the scroll bar. */
import { useEffect, useRef, type ReactElement } from 'react'
import styles from './log.module.css'
import type { Match } from './search.ts'

const LEAST_TICK = 2

/** Draws a tick for each match, by its share of the lines. `version` changes with the matches. A click shows the place. */
export function Strip({
  matches,
  total,
  version,
  onShow,
}: {
  readonly matches: readonly Match[]
  readonly total: number
  readonly version: number
  readonly onShow: (line: number) => void
}): ReactElement {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    const element = canvas.current
    const context = element?.getContext('2d')
    if (element === null || !context) return
    element.width = element.clientWidth
    element.height = element.clientHeight
    context.fillStyle = getComputedStyle(element).color
    let last = -1
    for (const { line } of matches) {
      const top = Math.floor((line / Math.max(1, total)) * (element.height - LEAST_TICK))
      if (top === last) continue
      context.fillRect(1, top, element.width - 2, LEAST_TICK)
      last = top
    }
  }, [matches, total, version])
  return (
    <canvas
      ref={canvas}
      className={styles['strip']}
      aria-hidden
      onClick={({ nativeEvent, currentTarget }) => onShow(Math.floor((nativeEvent.offsetY / currentTarget.clientHeight) * total))}
    />
  )
}
