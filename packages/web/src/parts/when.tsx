/** A time: how long ago, with the exact time as tooltip. */
import type { ReactElement } from 'react'
import { useNow } from '../looks/clock.ts'
import { formatAgo, formatExact } from '../looks/time.ts'
import { Tooltip } from './tooltip.tsx'

export function When({ at }: { readonly at: number }): ReactElement {
  const now = useNow()
  return (
    <Tooltip text={formatExact(at)}>
      <time dateTime={new Date(at).toISOString()}>{formatAgo(at, now)}</time>
    </Tooltip>
  )
}
