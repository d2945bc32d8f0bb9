/** Asks before something that is hard to undo, and does it. */
import { useMutation } from '@tanstack/react-query'
import type { ReactElement, ReactNode } from 'react'
import { useAway } from '../../shell/away-bar.tsx'
import { Button, type ButtonTone } from '../button.tsx'
import { Dialog } from '../floating/dialog.tsx'
import { Problem } from '../problem.tsx'

interface QuestionProps {
  readonly title: string
  readonly children: ReactNode
  /** The verb with its object, as the button says it. */
  readonly verb: string
  readonly tone?: ButtonTone
  /** Why it cannot be done now, besides a server that does not answer. */
  readonly off?: string | undefined
  readonly onDo: () => Promise<unknown>
  readonly onClose: () => void
}

export function Question({ title, children, verb, tone = 'danger', off, onDo, onClose }: QuestionProps): ReactElement {
  const away = useAway()
  const act = useMutation({ mutationFn: onDo, onSuccess: onClose })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={title}
      actions={
        <>
          <Button tone={tone} off={away ?? off} isBusy={act.isPending} onClick={() => act.mutate()}>
            {verb}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      {children}
      {act.error !== null && <Problem error={act.error} />}
    </Dialog>
  )
}
