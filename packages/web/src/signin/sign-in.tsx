/** Sign-in: by the code of a printed link, name and password, an API key or the provider of the server; also invitations and the first account. */
import { useQuery } from '@tanstack/react-query'
import type { Session } from '@windlass/protocol'
import { useEffect, useRef, useState, type FormEvent, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import { Logo } from '../looks/logo.tsx'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/forms/field.tsx'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { enter } from '../server/session.ts'
import { AwayBar } from '../shell/away-bar.tsx'
import { useTab } from '../shell/page.tsx'
import { readNext } from '../url/paths.ts'
import { CodeLink } from './code-link.tsx'
import { InvitationForm } from './invitation-form.tsx'
import { sayWrong } from './say-wrong.ts'
import { SetUp } from './set-up.tsx'
import styles from './sign-in.module.css'
import { textOf } from './text-of.ts'

/** What the fragment of a link holds. It reaches no server, and is removed from the address at once. */
function readFragment(): { readonly code?: string; readonly invitation?: string } {
  const params = new URLSearchParams(location.hash.slice(1))
  const code = params.get('code')
  const invitation = params.get('invitation')
  return { ...(code !== null && { code }), ...(invitation !== null && { invitation }) }
}

export function SignIn(): ReactElement {
  const [, go] = useLocation()
  const [given, setGiven] = useState(readFragment)
  const { data: status } = useQuery(queries.status())
  useTab('Sign in', 'windlass')
  useEffect(() => {
    if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search)
  }, [])
  const done = (session: Session): void => {
    enter(session)
    go(readNext(location.search), { replace: true })
  }
  return (
    <main className={styles['page']}>
      <AwayBar />
      <div className={styles['card']}>
        <div className={styles['head']}>
          <Logo size={24} />
          <h1>Windlass</h1>
          <span className="quiet">{location.host}</span>
        </div>
        {given.code !== undefined ? (
          <CodeLink code={given.code} onDone={done} onLeave={() => setGiven({})} />
        ) : given.invitation !== undefined ? (
          <InvitationForm code={given.invitation} onDone={done} />
        ) : status?.bootstrapped === false ? (
          <SetUp onDone={done} />
        ) : (
          <Forms provider={status?.oidc?.name} onDone={done} />
        )}
      </div>
    </main>
  )
}

/** The ways to sign in. `isAside`: the page stays open, so that the provider of the server opens in a tab of its own. */
export function Forms({
  provider,
  isAside = false,
  onDone,
}: {
  readonly provider: string | undefined
  readonly isAside?: boolean
  readonly onDone: (session: Session) => void
}): ReactElement {
  const [hasKey, setHasKey] = useState(false)
  return (
    <>
      {provider !== undefined && (
        <a className={styles['provider']} href="/v1/sessions/oidc" {...(isAside && { target: '_blank' })}>
          Sign in with {provider}
        </a>
      )}
      <Credentials hasKey={hasKey} onDone={onDone} />
      <div className={styles['more']}>
        <Button tone="quiet" small onClick={() => setHasKey(!hasKey)}>
          {hasKey ? 'Use a name and password' : 'Use an API key'}
        </Button>
        <details>
          <summary>Why can I not sign in?</summary>
          <p>
            An admin invites users with <code>windlass users create NAME</code>. Whoever has an API key can sign in with it here,
            or run <code>windlass auth link</code> and open the link.
          </p>
        </details>
      </div>
    </>
  )
}

function Credentials({
  hasKey,
  onDone,
}: {
  readonly hasKey: boolean
  readonly onDone: (session: Session) => void
}): ReactElement {
  const [wrong, setWrong] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)
  const secret = useRef<HTMLInputElement>(null)
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    const read = (name: string): string => textOf(data, name)
    setIsBusy(true)
    try {
      onDone(
        await client.sessions.create(
          hasKey ? { key: read('key').trim() } : { name: read('name').trim(), password: read('password') },
        ),
      )
    } catch (error) {
      setWrong(sayWrong(error))
      if (secret.current !== null) secret.current.value = ''
      secret.current?.focus()
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <form className={styles['form']} onSubmit={(event) => void submit(event)}>
      {hasKey ? (
        <Field
          key="key"
          ref={secret}
          label="API key"
          name="key"
          type="password"
          autoComplete="off"
          required
          autoFocus
          error={wrong}
        />
      ) : (
        <>
          <Field label="Name" name="name" autoComplete="username" autoCapitalize="none" required autoFocus />
          <Field
            key="password"
            ref={secret}
            label="Password"
            name="password"
            type="password"
            autoComplete="current-password"
            required
            error={wrong}
          />
        </>
      )}
      <Button type="submit" tone="primary" isBusy={isBusy}>
        Sign in
      </Button>
    </form>
  )
}
