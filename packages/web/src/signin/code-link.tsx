/**
 * The sign-in with the code of a printed link. It asks first: another person may have sent the link, and the session would have the rights of that
 * person's key.
 */
import { useQuery } from '@tanstack/react-query'
import type { Session } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Problem } from '../parts/problem.tsx'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { nameOf } from '../server/session.ts'
import styles from './sign-in.module.css'

interface CodeLinkProps {
  readonly code: string
  readonly onDone: (session: Session) => void
  readonly onLeave: () => void
}

export function CodeLink({ code, onDone, onLeave }: CodeLinkProps): ReactElement {
  const { data: session } = useQuery(queries.session())
  const [error, setError] = useState<unknown>()
  const [isBusy, setIsBusy] = useState(false)
  const accept = async (): Promise<void> => {
    setIsBusy(true)
    try {
      if (session !== undefined) await client.sessions.signOut()
      onDone(await client.sessions.create({ code }))
    } catch (failure) {
      setError(failure)
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <div className={styles['form']}>
      {error === undefined ? (
        <>
          <p>
            {session !== undefined && <>You are signed in as {nameOf(session)}; that session ends. </>}
            Continue only if you created this link yourself, for example with <code>windlass auth link</code>.
          </p>
          <Button tone="primary" isBusy={isBusy} autoFocus onClick={() => void accept()}>
            Sign in with this link
          </Button>
        </>
      ) : (
        <Problem error={error} />
      )}
      <Button tone="quiet" onClick={onLeave}>
        Sign in another way
      </Button>
    </div>
  )
}
