/** Asks for a sign-in above a page whose session has ended. What was typed in the page stays. */
import { useQuery } from '@tanstack/react-query'
import type { Session } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { ButtonLink } from '../parts/button.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { queries } from '../server/queries.ts'
import { idOf, keepOwn } from '../server/own-storage.ts'
import { enter, nameOf } from '../server/session.ts'
import { paths } from '../url/paths.ts'
import { Forms } from './sign-in.tsx'

export function SessionEnded({ before }: { readonly before: Session }): ReactElement {
  const { data: status } = useQuery(queries.status())
  const done = (session: Session): void => {
    // What another user has seen and typed is not for this one.
    if (idOf(session) === idOf(before)) return enter(session)
    keepOwn(session)
    location.reload()
  }
  return (
    <Dialog
      isOpen
      // Only a sign-in or leaving the page ends the question.
      onClose={() => undefined}
      title="Your session has ended"
      actions={
        <ButtonLink small tone="quiet" href={paths.signIn()}>
          Leave this page
        </ButtonLink>
      }
    >
      <p>
        Sign in again to continue as <bdi>{nameOf(before)}</bdi>. What you have typed is still there.
      </p>
      <Forms isAside provider={status?.oidc?.name} onDone={done} />
    </Dialog>
  )
}
