/** New builds that the list does not show yet. */
import type { Build } from '@windlass/protocol'
import { useState } from 'react'
import { useTopics } from '../server/stream.ts'
import { mayMatch, type BuildFilter } from '../url/build-filter.ts'

interface FreshOptions {
  readonly builds: readonly Build[]
  readonly filter: BuildFilter
  /** True while the pointer or the focus is in the list. */
  readonly isHeld: boolean
  readonly refresh: () => void
}

/** Distance from the top of the page up to which new builds may move the rows. Pixels. */
const TOP_PX = 40

/** Counts builds that are not in the list yet. They appear without a key only if the list is at its top and neither hovered nor focused. */
export function useFreshBuilds({ builds, filter, isHeld, refresh }: FreshOptions): {
  readonly count: number
  readonly show: () => void
} {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const show = (): void => {
    setIds(new Set())
    refresh()
  }
  useTopics(['account'], ({ event, data }) => {
    if (event !== 'changed' || data.change.noun !== 'build') return
    const { item } = data.change
    const isNewer = item.number > (builds[0]?.number ?? 0)
    if (!isNewer || !mayMatch(item, filter)) return
    if (isHeld || scrollY > TOP_PX) setIds((known) => (known.has(item.id) ? known : new Set([...known, item.id])))
    else show()
  })
  const known = new Set(builds.map(({ id }) => id))
  return { count: [...ids].filter((id) => !known.has(id)).length, show }
}
