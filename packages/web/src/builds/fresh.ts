/** New builds that a list does not show yet. */
import type { Build } from '@windlass/protocol'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { useTopics } from '../server/stream.ts'
import { mayMatch, type BuildFilter } from '../url/build-filter.ts'

interface FreshOptions {
  /** Those that the list shows, newest first. */
  readonly builds: readonly Build[]
  readonly filter: BuildFilter
  /** True if the server has older builds that are not loaded. */
  readonly hasOlder: boolean
  /** Returns true while no row may move. */
  readonly isHeld: () => boolean
  /** Reads the list again. */
  readonly refresh: () => Promise<unknown>
}

/** Builds that arrive within this time are read together. Milliseconds. */
const TOGETHER_MS = 200

/** Counts builds that belong in the list and are not in it yet. While it is not held, the list is read again instead. */
export function useFreshBuilds({ builds, filter, hasOlder, isHeld, refresh }: FreshOptions): {
  readonly count: number
  readonly show: () => void
} {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const arrived = useRef(new Set<string>())
  const asked = useRef(new Set<string>())
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const isIn = new Set(builds.map(({ id }) => id))
  // Whether a build has an annotation or a text is not known here: it is asked for once, if it is new.
  const isCertain = filter.q === undefined && filter.annotation === undefined
  const belongs = ({ id, number }: Build): boolean => {
    const last = isCertain ? builds.at(-1) : builds[0]
    if (isIn.has(id) || (number <= (last?.number ?? 0) && (!isCertain || hasOlder))) return false
    if (isCertain) return true
    const isAsked = asked.current.has(id)
    asked.current.add(id)
    return !isAsked
  }
  const take = useEffectEvent(async (): Promise<void> => {
    const taken = [...arrived.current]
    arrived.current.clear()
    if (isHeld()) setIds((before) => new Set([...before, ...taken]))
    else await refresh()
  })
  // One reading at a time: on a busy server the next build would end the reading before it has an answer.
  const collect = useEffectEvent((): void => {
    timer.current ??= setTimeout(() => {
      void take().finally(() => {
        timer.current = undefined
        if (arrived.current.size > 0) collect()
      })
    }, TOGETHER_MS)
  })
  useEffect(() => () => clearTimeout(timer.current), [])
  useTopics(['account'], ({ event, data }) => {
    if (event !== 'changed' || data.change.noun !== 'build') return
    const { item } = data.change
    if (!mayMatch(item, filter) || !belongs(item)) return
    arrived.current.add(item.id)
    collect()
  })
  const show = (): void => {
    setIds(new Set())
    void refresh()
  }
  return { count: [...ids].filter((id) => !isIn.has(id)).length, show }
}
