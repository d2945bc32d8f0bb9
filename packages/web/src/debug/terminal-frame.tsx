/** The document of a terminal in the page. It has a policy of its own, and gets its output from the stream of the page. */
import { useEffect, useRef, type ReactElement } from 'react'
import { serveFrame } from '../terminal/frame.ts'
import type { TerminalPlace } from '../terminal/output.ts'
import { paths } from '../url/paths.ts'
import { tell } from '../shell/toasts.tsx'
import styles from './debug.module.css'

export function TerminalFrame({ place, step }: { readonly place: TerminalPlace; readonly step: string }): ReactElement {
  const frame = useRef<HTMLIFrameElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const { build, terminal } = place
  useEffect(() => {
    if (frame.current === null) return undefined
    return serveFrame(frame.current, { build, terminal }, () => {
      box.current?.focus()
      tell({ text: 'You left the terminal. The step stays held.' })
    })
  }, [build, terminal])
  return (
    <div ref={box} className={styles['frame']} tabIndex={-1} role="group" aria-label={`Terminal in ${step}`}>
      <iframe
        ref={frame}
        title={`Terminal in ${step}`}
        src={paths.terminal(build, terminal)}
        // What the terminal asks is shown in the middle of the frame.
        onLoad={() => box.current?.scrollIntoView({ block: 'nearest' })}
      />
    </div>
  )
}
