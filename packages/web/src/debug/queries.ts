/** What the screens of the debugger read, and how it stays current. */
import { queryOptions, useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { DebugState } from '@windlass/protocol'
import { useEffect, useRef } from 'react'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { useTopics } from '../server/stream.ts'

export const debugQuery = (id: string) =>
  queryOptions({ queryKey: ['build', id, 'debug'], queryFn: ({ signal }) => client.debug.get(id, { signal }) })

const READ_MS = 100
/** Events of a build that change what is held, or its terminals. */
const CHANGES = /^(?:debug|terminal|step|attempt)\./

/** Returns the breakpoints, held steps and terminals of a build. Reads them again when an event says that they changed. */
export function useDebug(id: string, isFinal: boolean): UseQueryResult<DebugState> {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useTopics(isFinal ? [] : [`build:${id}:0`], ({ event, data }) => {
    if (event !== 'end' && !(event === 'event' && CHANGES.test(data.item.type))) return
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      void queryClient.invalidateQueries({ queryKey: debugQuery(id).queryKey })
    }, READ_MS)
  })
  useEffect(
    () => () => {
      clearTimeout(timer.current)
      timer.current = undefined
    },
    [],
  )
  return useQuery(debugQuery(id))
}
