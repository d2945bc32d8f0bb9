/** The log of a container while its screen is open: read, followed, and joined again after a broken connection. */
import { followContainerLog, type LogStart } from '@windlass/client/container-log'
import type { ContainerLog } from '@windlass/protocol'
import { useCallback, useEffect, useState } from 'react'
import { delivery } from '../../queries.ts'
import { addPart, NO_ROWS, type LogRows } from './log-rows.ts'

/** Lines that are read at first. */
const FIRST_LINES = 1_000

export interface LogPlace {
  /** Of the application: RUNTIME/NAMESPACE/NAME. */
  readonly id: string
  readonly pod: string
  readonly namespace: string
  readonly container: string
  /** True for the log of the container before its last start, which gets no more lines. */
  readonly isPrevious: boolean
  /** Age of the oldest line. Seconds. */
  readonly since: number | undefined
}

export interface ShownLog extends LogRows {
  readonly state: 'asked' | 'read'
  /** True if the log has earlier lines than those that were read. */
  readonly isCut: boolean
  /** Why no new lines come at the moment. The log is asked again. */
  readonly away: unknown
  /** True if the log has no lines any more, although some are shown. */
  readonly isEmpty: boolean
  /** Why it cannot be read. */
  readonly error: unknown
}

const EMPTY: ShownLog = { ...NO_ROWS, state: 'asked', isCut: false, isEmpty: false, away: undefined, error: undefined }

/** Reads a log, and its new lines while it is followed. Returns it, and a function that reads it from its beginning again. */
export function useContainerLog(place: LogPlace, isFollowed: boolean): readonly [ShownLog, () => void] {
  const { id, pod, namespace, container, isPrevious, since } = place
  const [shown, setShown] = useState(EMPTY)
  const [reads, setReads] = useState(0)
  const [gate] = useState(openGate)
  useEffect(() => gate.set(isFollowed), [gate, isFollowed])
  useEffect(() => {
    const over = new AbortController()
    const { signal } = over
    const read = async (start: LogStart): Promise<ContainerLog> =>
      delivery.applications.logs(id, { query: { pod, namespace, container, previous: isPrevious, ...start }, signal })
    async function run(): Promise<void> {
      const first = await read({ tail: FIRST_LINES, ...(since !== undefined && { since }) })
      setShown({ ...EMPTY, ...addPart(NO_ROWS, { lines: first.items }), state: 'read', isCut: first.isCut === true })
      if (isPrevious) return
      const events = followContainerLog(first, { read, sleep: (ms, end) => gate.sleep(ms, end), signal })
      // Its first event has the lines that are shown.
      await events.next()
      for await (const event of events) {
        setShown((before) => {
          if (event.kind === 'away') return { ...before, away: event.error }
          if (event.kind === 'empty') return { ...before, away: undefined, isEmpty: true }
          return { ...before, ...addPart(before, event), away: undefined, isEmpty: false }
        })
      }
    }
    setShown(EMPTY)
    run().catch((error: unknown) => {
      if (!signal.aborted) setShown((before) => ({ ...before, state: 'read', away: undefined, error }))
    })
    return () => over.abort()
  }, [id, pod, namespace, container, isPrevious, since, reads, gate])
  const again = useCallback(() => setReads((count) => count + 1), [])
  return [shown, again]
}

interface Gate {
  set(isOpen: boolean): void
  /** Waits, and then until the gate is open. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Lets pauses end only while a log is followed, so that it goes on after its last line. */
function openGate(): Gate {
  let isOpen = true
  const waiting = new Set<() => void>()
  return {
    set(open) {
      isOpen = open
      if (open) for (const go of waiting) go()
    },
    async sleep(ms, signal) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        signal.addEventListener(
          'abort',
          () => {
            clearTimeout(timer)
            resolve()
          },
          { once: true },
        )
      })
      while (!isOpen && !signal.aborted)
        await new Promise<void>((resolve) => {
          const go = (): void => {
            waiting.delete(go)
            resolve()
          }
          waiting.add(go)
          signal.addEventListener('abort', go, { once: true })
        })
    },
  }
}
