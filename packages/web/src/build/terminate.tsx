/** Asks before a build is terminated. */
import { useMutation } from '@tanstack/react-query'
import type { Build } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'

export function Terminate({
  build,
  isOpen,
  onClose,
}: {
  readonly build: Build
  readonly isOpen: boolean
  readonly onClose: () => void
}): ReactElement {
  const end = useMutation({
    mutationFn: () => client.builds.terminate(build.id),
    onSuccess: () => {
      onClose()
      void queryClient.invalidateQueries({ queryKey: queries.build(build.id).queryKey })
    },
  })
  const running = (build.steps ?? [])
    .filter(({ status, type }) => status === 'running' && type !== 'group')
    .map(({ name }) => name)
  const isSecond = build.status === 'terminating'
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Terminate #${build.number}?`}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button tone="danger" isBusy={end.isPending} onClick={() => end.mutate()}>
            Terminate
          </Button>
        </>
      }
    >
      <p>
        {running.length > 0 &&
          `${running.slice(0, 3).join(', ')}${running.length > 3 ? ` and ${running.length - 3} more` : ''} stopped. `}
        {isSecond ? 'The hooks of the build are stopped too.' : 'The hooks of the build still run.'}
      </p>
      {end.error !== null && <Problem error={end.error} />}
    </Dialog>
  )
}
