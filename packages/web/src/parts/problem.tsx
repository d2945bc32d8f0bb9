/** Shows a fault: what happened, what can be done, and a new try. */
import { isFault } from '@windlass/kit/faults'
import type { ReactElement } from 'react'
import { Button } from './button.tsx'
import { Command } from './copy.tsx'
import styles from './parts.module.css'
import { commandOf } from './shell.ts'

/** Returns the message and hint of any error. `wait` is how long the server asks to wait before the next try, in seconds. */
export function toProblem(error: unknown): { readonly message: string; readonly hint: string; readonly wait?: number } {
  if (isFault(error)) {
    const { retryAfter } = error.details
    return { message: error.message, hint: error.hint, ...(typeof retryAfter === 'number' && { wait: retryAfter }) }
  }
  return {
    message: error instanceof Error ? error.message : String(error),
    hint: 'Reload the page. If it happens again, report it with this message.',
  }
}

export function Problem({
  error,
  onRetry,
}: {
  readonly error: unknown
  readonly onRetry?: (() => void) | undefined
}): ReactElement {
  const { message, hint, wait } = toProblem(error)
  const command = commandOf(hint)
  return (
    <div className={styles['problem']} role="alert">
      <strong>{message}</strong>
      {hint !== '' && <p>{hint}</p>}
      {wait !== undefined && <p>The server accepts the next try in {wait} s.</p>}
      {command !== undefined && <Command text={command} />}
      {onRetry !== undefined && (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}
