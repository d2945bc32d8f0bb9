/** Says that the server does not answer, since when, and when the page tries again. */
import type { ReactElement } from 'react'
import { useNow } from '../looks/clock.ts'
import { formatMoment } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import { silence, tryNow } from '../server/away.ts'
import { useStore } from '../server/store.ts'
import styles from './shell.module.css'

/** Returns why actions are off while the server does not answer. */
export function useAway(): string | undefined {
  return useStore(silence) === undefined ? undefined : 'The server does not answer.'
}

export function AwayBar(): ReactElement | null {
  const state = useStore(silence)
  const now = useNow()
  if (state === undefined) return null
  const seconds = Math.max(0, Math.ceil((state.nextTryAt - now) / 1_000))
  return (
    <div className={styles['away']} role="alert">
      <p>The server has not answered since {formatMoment(state.since, now)}.</p>
      <p aria-hidden>{seconds === 0 ? 'Trying again.' : `Trying again in ${seconds} s.`}</p>
      <Button small onClick={() => void tryNow()}>
        Try now
      </Button>
    </div>
  )
}
