/** Cells of tables that can be narrowed by what they show. */
import type { ReactElement } from 'react'
import cells from './cells.module.css'

interface NarrowProps {
  readonly name: string
  readonly value: string
  readonly onNarrow: () => void
}

/** A value that limits the list to the rows that have it. */
export function Narrow({ name, value, onNarrow }: NarrowProps): ReactElement {
  return (
    <button type="button" className={cells['narrow']} aria-label={`Show only the ${name} ${value}`} onClick={onNarrow}>
      <bdi>{value}</bdi>
    </button>
  )
}
