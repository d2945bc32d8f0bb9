/** An application as its runtime has it now, in the place of what was reported, and why something cannot be done with it. */
import { useQuery } from '@tanstack/react-query'
import { isFault } from '@windlass/kit/faults'
import type { ApplicationDetails, RuntimeApplicationDetails } from '@windlass/protocol'
import { useEffect, useRef } from 'react'
import { toProblem } from '../../parts/problem.tsx'
import { queryClient } from '../../server/query-client.ts'
import { tell } from '../../shell/toasts.tsx'
import { useOff } from '../../shell/use-off.ts'
import { deliveryQueries } from '../queries.ts'
import { lookOfPhase } from '../states.ts'

/** How often the connection of a runtime is asked for: no event tells of it. Milliseconds. */
const TUNNELS_MS = 10_000

export interface LiveApplication {
  /** RUNTIME/NAMESPACE/NAME. */
  readonly id: string
  readonly reported: ApplicationDetails
  /** What the runtime has now; undefined while it is asked, and while it does not answer. */
  readonly now: RuntimeApplicationDetails | undefined
  /** Why there is nothing of the runtime. Undefined if there is. */
  readonly away: Away | undefined
}

export type Away =
  | { readonly kind: 'asked' }
  /** No tunnel leads to the runtime, or none ever did, as for one that is reached by an ingress only. */
  | { readonly kind: 'offline' | 'never' }
  | { readonly kind: 'failed'; readonly error: unknown; readonly retry: () => void }

export function idOf({ runtime, namespace, name }: Pick<ApplicationDetails, 'runtime' | 'namespace' | 'name'>): string {
  return `${runtime}/${namespace}/${name}`
}

/** Reads an application from its runtime: each time that it is reported anew, every second while a sync runs, and now and then. */
export function useLive(reported: ApplicationDetails): LiveApplication {
  const id = idOf(reported)
  const connection = useConnection(reported.runtime)
  const { data, error, refetch } = useQuery({ ...deliveryQueries.live(id), enabled: connection === 'connected' })
  const { reportedAt } = reported
  const shownAt = useRef(reportedAt)
  useEffect(() => {
    if (shownAt.current === reportedAt) return
    shownAt.current = reportedAt
    void queryClient.invalidateQueries({ queryKey: ['live-application', id] }, { cancelRefetch: false })
  }, [id, reportedAt])
  const isOffline = connection === 'offline' || connection === 'never' || isFault(error, 'tunnel-offline')
  const now = isOffline || error !== null ? undefined : data
  useEnd(now)
  return { id, reported, now, away: awayOf() }

  function awayOf(): Away | undefined {
    if (isOffline) return { kind: connection === 'never' ? 'never' : 'offline' }
    if (error !== null) return { kind: 'failed', error, retry: () => void refetch() }
    return now === undefined ? { kind: 'asked' } : undefined
  }
}

/** Returns whether a tunnel leads to a runtime. */
function useConnection(runtime: string): 'asked' | 'connected' | 'offline' | 'never' {
  const { data, isPending } = useQuery({ ...deliveryQueries.tunnels(), refetchInterval: TUNNELS_MS })
  if (isPending) return 'asked'
  const tunnel = data?.find((one) => one.runtime === runtime)
  if (tunnel?.connectedAt === undefined) return 'never'
  return tunnel.status === 'offline' ? 'offline' : 'connected'
}

/** Tells the end of a sync that this screen has seen in progress. */
function useEnd(app: RuntimeApplicationDetails | undefined): void {
  const wasBusy = useRef(false)
  const isBusy = app?.isBusy
  useEffect(() => {
    if (app === undefined || isBusy === undefined) return
    if (wasBusy.current && !isBusy && app.operation !== undefined) {
      const { phase, message } = app.operation
      const text = `The sync of ${app.name}: ${lookOfPhase(phase).word.toLowerCase()}.`
      void queryClient.invalidateQueries({ queryKey: ['live-application'] })
      tell(phase === 'succeeded' ? { text } : { text: message === undefined ? text : `${text} ${message}`, tone: 'bad' })
    }
    wasBusy.current = isBusy
  }, [app, isBusy])
}

/** Puts the answer of an operation in the place of what was read before. */
export function showLive(id: string, app: RuntimeApplicationDetails): void {
  queryClient.setQueryData(deliveryQueries.live(id).queryKey, app)
  void queryClient.invalidateQueries({ queryKey: ['live-application', id] })
}

/** Returns why nothing can be changed now: a missing right, or a runtime that does not answer. */
export function useNoChange({ reported: { runtime }, away }: LiveApplication): string | undefined {
  const off = useOff('change-gitops')
  if (off !== undefined || away === undefined) return off
  if (away.kind === 'failed') return toProblem(away.error).message
  return away.kind === 'asked' ? `The runtime ${runtime} is being asked.` : `The runtime ${runtime} is not connected.`
}

/** Returns why no operation can begin now. */
export function useNoOperation(live: LiveApplication): string | undefined {
  const off = useNoChange(live)
  if (off !== undefined) return off
  if (live.now?.isDeleting === true) return 'Argo CD deletes the application.'
  return live.now?.isBusy === true ? 'Another operation of the application is in progress.' : undefined
}
