/** The first set-up of a server: its printed code makes the first admin key, with which this browser signs in. */
import type { Session } from '@windlass/protocol'
import { useState, type FormEvent, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Field } from '../parts/forms/field.tsx'
import { client } from '../server/client.ts'
import { sayWrong } from './say-wrong.ts'
import styles from './sign-in.module.css'
import { textOf } from './text-of.ts'

export function SetUp({ onDone }: { readonly onDone: (session: Session) => void }): ReactElement {
  const [wrong, setWrong] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)
  const [made, setMade] = useState<{ readonly session: Session; readonly token: string }>()
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    setIsBusy(true)
    try {
      const { token } = await client.server.bootstrap({
        name: textOf(data, 'name'),
        code: textOf(data, 'code').trim(),
      })
      setMade({ session: await client.sessions.create({ key: token }), token })
    } catch (error) {
      setWrong(sayWrong(error))
    } finally {
      setIsBusy(false)
    }
  }
  if (made !== undefined)
    return (
      <div className={styles['form']}>
        <p>The server is set up, and this browser is signed in. Keep the key of the first admin; it is not shown again.</p>
        <Command text={made.token} />
        <Button tone="primary" autoFocus onClick={() => onDone(made.session)}>
          I have kept it
        </Button>
      </div>
    )
  return (
    <form className={styles['form']} onSubmit={(event) => void submit(event)}>
      <p>This server is not set up yet.</p>
      <Field label="Name of the first key" name="name" defaultValue="admin" required />
      <Field
        label="Set-up code"
        name="code"
        autoComplete="off"
        required
        autoFocus
        error={wrong}
        hint="The server printed it when it started. It is also in the file bootstrap.code of its data folder."
      />
      <Button type="submit" tone="primary" isBusy={isBusy}>
        Set up
      </Button>
    </form>
  )
}
