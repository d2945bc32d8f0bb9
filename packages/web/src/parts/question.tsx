/** Asks before something that cannot be undone, and does it. */
import { useMutation } from '@tanstack/react-query'
import type { ReactElement, ReactNode } from 'react'
import { useAway } from '../shell/away-bar.tsx'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Problem } from './problem.tsx'

interface QuestionProps {
  readonly title: string
  readonly children: ReactNode
  /** The verb with its object, as the button says it. */
  readonly verb: string
  readonly onDo: () => Promise<unknown>
  readonly onClose: () => void
}

export function Question({ title, children, verb, onDo, onClose }: QuestionProps): ReactElement {
  const away = useAway()
  const act = useMutation({ mutationFn: onDo, onSuccess: onClose })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={title}
      actions={
        <>
          <Button tone="danger" off={away} isBusy={act.isPending} onClick={() => act.mutate()}>
            {verb}
          </Button>
          <Button onClick={onClose}>Leave it</Button>
        </>
      }
    >
      {children}
      {act.error !== null && <Problem error={act.error} />}
    </Dialog>
  )
}
