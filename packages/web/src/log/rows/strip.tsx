/** Where the matches and problems are in the log, beside the scroll bar. */
import { useEffect, useRef, type ReactElement } from 'react'
import styles from '../log.module.css'

const LEAST_TICK = 2

interface Place {
  readonly line: number
}

/** Draws a tick for each match and problem, by its share of the lines. `version` changes with the matches. A click shows the place. */
export function Strip({
  matches,
  problems,
  total,
  version,
  onShow,
}: {
  readonly matches: readonly Place[]
  readonly problems: readonly Place[]
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
    const draw = (places: readonly Place[], color: string, [left, width]: readonly [number, number]): void => {
      context.fillStyle = color
      let last = -1
      for (const { line } of places) {
        const top = Math.floor((line / Math.max(1, total)) * (element.height - LEAST_TICK))
        if (top === last) continue
        context.fillRect(left, top, width, LEAST_TICK)
        last = top
      }
    }
    const { color, textDecorationColor } = getComputedStyle(element)
    const half = Math.floor(element.width / 2)
    draw(matches, color, [1, half - 1])
    draw(problems, textDecorationColor, [half, element.width - half - 1])
  }, [matches, problems, total, version])
  return (
    <canvas
      ref={canvas}
      className={styles['strip']}
      aria-hidden
      onClick={({ nativeEvent, currentTarget }) => onShow(Math.floor((nativeEvent.offsetY / currentTarget.clientHeight) * total))}
    />
  )
}
