/** The button of the waiting box that changes how many builds a runtime runs at once. */
import { Suspense, useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { late } from '../shell/late.tsx'
import { useOff } from '../shell/use-off.ts'

const CapacityDialog = late(async () => (await import('../fleet/capacity-dialog.tsx')).CapacityDialog)

export function RaiseCapacity({ runtime }: { readonly runtime: string }): ReactElement {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Button small off={useOff('manage-runners')} onClick={() => setIsOpen(true)}>
        Raise capacity
      </Button>
      <Suspense fallback={null}>{isOpen && <CapacityDialog name={runtime} onClose={() => setIsOpen(false)} />}</Suspense>
    </>
  )
}
