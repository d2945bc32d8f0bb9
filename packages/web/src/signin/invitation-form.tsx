/** Lets an invited user choose a password. The code of the invitation is used when the form is sent. */
import type { Session } from '@windlass/protocol'
import { useState, type FormEvent, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/forms/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { client } from '../server/client.ts'
import styles from './sign-in.module.css'
import { textOf } from './text-of.ts'

const SHORTEST_PASSWORD = 12

export function InvitationForm({
  code,
  onDone,
}: {
  readonly code: string
  readonly onDone: (session: Session) => void
}): ReactElement {
  const [error, setError] = useState<unknown>()
  const [differs, setDiffers] = useState(false)
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    const password = textOf(data, 'password')
    const isSame = password === data.get('again')
    setDiffers(!isSame)
    if (!isSame) return
    try {
      onDone(await client.passwords.acceptInvitation({ code, password }))
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <form className={styles['form']} onSubmit={(event) => void submit(event)}>
      <Field
        label="New password"
        name="password"
        type="password"
        autoComplete="new-password"
        minLength={SHORTEST_PASSWORD}
        required
        autoFocus
        hint={`At least ${SHORTEST_PASSWORD} characters.`}
      />
      <Field
        label="The same password again"
        name="again"
        type="password"
        autoComplete="new-password"
        required
        error={differs ? 'The two passwords differ.' : undefined}
      />
      {error !== undefined && <Problem error={error} />}
      <Button type="submit" tone="primary">
        Set the password and sign in
      </Button>
    </form>
  )
}
