/** A time: how long ago, with the exact time as tooltip. */
import type { ReactElement } from 'react'
import { useTime } from '../looks/clock.ts'
import { formatAgo, formatExact } from '../looks/time.ts'
import { Tooltip } from './floating/tooltip.tsx'

export function When({ at }: { readonly at: number }): ReactElement {
  const ago = useTime((now) => formatAgo(at, now))
  return (
    <Tooltip text={formatExact(at)}>
      <time dateTime={new Date(at).toISOString()}>{ago}</time>
    </Tooltip>
  )
}
