/** The problems of a document below its text: place, message, hint, and a button that solves it. */
import type { Fix } from '@windlass/pipeline'
import { plural } from '@windlass/plan'
import type { ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import styles from './editor.module.css'

/** A problem of the worker or of the server. */
export interface ListedProblem {
  readonly severity: string
  readonly line?: number | undefined
  readonly column?: number | undefined
  readonly code?: string | undefined
  readonly message: string
  readonly hint?: string | undefined
  readonly fix?: Fix | undefined
}

interface ProblemListProps {
  readonly problems: readonly ListedProblem[]
  /** Number of checks so far. */
  readonly count: number
  readonly onGoTo: (line: number, column: number) => void
  readonly onFix: (fix: Fix) => void
  readonly onNext: () => void
}

export function ProblemList({ problems, count, onGoTo, onFix, onNext }: ProblemListProps): ReactElement {
  const errors = problems.filter(({ severity }) => severity === 'error').length
  return (
    <section className={styles['problems']} aria-label="Problems" data-checks={count}>
      <div className={styles['summary']}>
        <p role="status">
          {plural(errors, 'error')}, {plural(problems.length - errors, 'warning')}
        </p>
        {problems.length > 0 && (
          <Button small tone="quiet" onClick={onNext}>
            Next problem <kbd>F8</kbd>
          </Button>
        )}
      </div>
      {problems.length > 0 && (
        <ol>
          {problems.map(({ severity, line = 1, column = 1, code, message, hint = '', fix }, index) => (
            <li key={index} data-severity={severity} data-code={code} data-line={line} data-column={column}>
              <button type="button" className={styles['place']} onClick={() => onGoTo(line, column)}>
                {line}:{column}
              </button>
              <div>
                <p>
                  <bdi>{message}</bdi>
                </p>
                {hint !== '' && (
                  <p className="quiet">
                    <bdi>{hint}</bdi>
                  </p>
                )}
              </div>
              {fix !== undefined && (
                <Button small onClick={() => onFix(fix)}>
                  {fix.label}
                </Button>
              )}
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}
