/** Draws the state of a build or step: its shape, with its word beside it or as its name. */
import type { ReactElement } from 'react'
import styles from './status.module.css'
import type { Look, Shape } from './states.ts'

const SHAPES: Readonly<Record<Shape, ReactElement>> = {
  triangle: (
    <>
      <path className={styles['solid']} d="M7 1.9a1.2 1.2 0 0 1 2 0l6.2 10.9a1.2 1.2 0 0 1-1 1.8H1.8a1.2 1.2 0 0 1-1-1.8z" />
      <path className={styles['over']} d="M8 5.6v3.4M8 11.6v.2" />
    </>
  ),
  hourglass: <path d="M4 2h8M4 14h8M4.8 2c0 4 6.4 4 6.4 12M11.2 2c0 4-6.4 4-6.4 12" />,
  dot: (
    <>
      <circle cx="8" cy="8" r="6" />
      <circle cx="8" cy="8" r="1.6" fill="currentColor" stroke="none" />
    </>
  ),
  arc: (
    <>
      <circle className={styles['track']} cx="8" cy="8" r="6" />
      <path className={styles['turn']} d="M8 2a6 6 0 0 1 6 6" />
    </>
  ),
  bars: (
    <>
      <rect x="2" y="2" width="12" height="12" rx="3" />
      <path d="M6.2 5.6v4.8M9.8 5.6v4.8" />
    </>
  ),
  caret: (
    <>
      <rect x="2" y="2" width="12" height="12" rx="3" />
      <path d="m6.2 5.6 2.6 2.4-2.6 2.4" />
    </>
  ),
  outline: <rect x="3" y="3" width="10" height="10" rx="1.5" />,
  check: (
    <>
      <circle className={styles['solid']} cx="8" cy="8" r="7" />
      <path className={styles['over']} d="m4.9 8.3 2.1 2.1 4.1-4.6" />
    </>
  ),
  cross: (
    <>
      <path className={styles['solid']} d="M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1z" />
      <path className={styles['over']} d="m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8" />
    </>
  ),
  hand: (
    <>
      <path className={styles['solid']} d="M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1z" />
      <path className={styles['over']} d="M4.6 8h6.8" />
    </>
  ),
  square: <rect className={styles['solid']} x="2.5" y="2.5" width="11" height="11" rx="2" />,
  dash: <path d="M4 8h8" />,
}

/** The shape alone. Screen readers read the word, unless text beside it says the same. */
export function StatusMark({ look, beside = false }: { readonly look: Look; readonly beside?: boolean }): ReactElement {
  const name = beside ? { 'aria-hidden': true as const } : { role: 'img', 'aria-label': look.word }
  return (
    <svg className={styles['mark']} data-tone={look.tone} viewBox="0 0 16 16" width="16" height="16" {...name}>
      {SHAPES[look.shape]}
    </svg>
  )
}

/** The shape and the word. */
export function Status({ look }: { readonly look: Look }): ReactElement {
  return (
    <span className={styles['status']} data-tone={look.tone}>
      <StatusMark look={look} beside />
      {look.word}
    </span>
  )
}
