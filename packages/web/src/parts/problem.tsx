/** Shows a fault: what happened, what can be done, and a new try. */
import { isFault } from '@windlass/kit/faults'
import type { ReactElement } from 'react'
import { Button } from './button.tsx'
import { Command } from './copy.tsx'
import styles from './parts.module.css'

/** Returns the message and hint of any error. */
export function toProblem(error: unknown): { readonly message: string; readonly hint: string } {
  if (isFault(error)) return { message: error.message, hint: error.hint }
  return {
    message: error instanceof Error ? error.message : String(error),
    hint: 'Reload the page. If it happens again, report it with this message.',
  }
}

/** Returns the command that a hint names between backticks, such as `windlass auth login`. */
export function commandOf(hint: string): string | undefined {
  return /`(windlass [^`]+)`/.exec(hint)?.[1]
}

export function Problem({
  error,
  onRetry,
}: {
  readonly error: unknown
  readonly onRetry?: (() => void) | undefined
}): ReactElement {
  const { message, hint } = toProblem(error)
  const command = commandOf(hint)
  return (
    <div className={styles['problem']} role="alert">
      <strong>{message}</strong>
      {hint !== '' && <p>{hint}</p>}
      {command !== undefined && <Command text={command} />}
      {onRetry !== undefined && (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}
