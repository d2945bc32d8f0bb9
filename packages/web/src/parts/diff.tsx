/** The lines in which two texts differ, with lines around them. */
import { unifiedDiff } from '@windlass/plan'
import { useMemo, type ReactElement } from 'react'
import styles from './diff.module.css'

const KINDS: Readonly<Record<string, 'added' | 'removed' | 'place'>> = { '+': 'added', '-': 'removed', '@': 'place' }
/** Lines that name both texts. */
const HEAD_LINES = 2

export interface DiffProps {
  readonly label: string
  readonly before: string
  readonly after: string
}

/** Shows a difference like `diff -u`: the sign at the start of a line says the same as its color. */
export function Diff({ label, before, after }: DiffProps): ReactElement {
  const lines = useMemo(
    () => unifiedDiff(before, after, { before: '', after: '' }).trimEnd().split('\n').slice(HEAD_LINES),
    [before, after],
  )
  return (
    <div className={styles['diff']} role="region" aria-label={label} tabIndex={0}>
      {lines.map((line, index) => (
        <div key={index} className={styles['line']} data-kind={KINDS[line.charAt(0)]}>
          <bdi>{line === '' ? ' ' : line}</bdi>
        </div>
      ))}
    </div>
  )
}
