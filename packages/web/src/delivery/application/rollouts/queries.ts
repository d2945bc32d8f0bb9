/** What the rollouts of an application are, as its runtime has them now, and what they were, as it has reported them. */
import { queryOptions } from '@tanstack/react-query'
import type { Rollout, RolloutKey } from '@windlass/protocol'
import { queryClient } from '../../../server/query-client.ts'
import { delivery } from '../../queries.ts'

/** The runtime is asked again this often, and while a rollout goes on more often. Milliseconds. */
const LIVE_MS = { calm: 10_000, busy: 2_000 }

const isBusy = ({ isComplete, phase }: Rollout): boolean => !isComplete || phase === 'progressing'

export const rolloutQueries = {
  list: (application: string) =>
    queryOptions({
      queryKey: ['live-application', application, 'rollouts'],
      queryFn: async ({ signal }) => (await delivery.rollouts.list(application, { signal })).items,
      refetchInterval: ({ state: { data } }) => (data?.some(isBusy) === true ? LIVE_MS.busy : LIVE_MS.calm),
      retry: false,
    }),
  /** The states that a rollout had, newest first; none if its runtime does not report rollouts. */
  history: ({ runtime, namespace, name }: RolloutKey & { readonly runtime: string }) =>
    queryOptions({
      queryKey: ['applications', 'rollout-history', runtime, namespace, name],
      queryFn: async ({ signal }) => {
        const query = { runtime, namespace, q: name }
        const { items } = await delivery.reportedRollouts.list({ signal, query })
        const found = items.find((one) => one.name === name)
        return found === undefined ? [] : (await delivery.reportedRollouts.get(found.id, { signal })).history
      },
      refetchInterval: LIVE_MS.calm,
      retry: false,
    }),
  /** Whether an earlier revision can be restored. */
  rollback: (application: string, { namespace, name, revision }: RolloutKey & { readonly revision: number }) =>
    queryOptions({
      queryKey: ['live-application', application, 'rollback', namespace, name, revision],
      queryFn: ({ signal }) =>
        delivery.rollouts.rollbackAvailability(application, { signal, query: { namespace, name, revision } }),
      retry: false,
    }),
}

/** Puts the answer of an action in the place of what was read before, and reads all of the application again. */
export function showRollout(application: string, rollout: Rollout): void {
  const isSame = ({ namespace, name }: Rollout): boolean => namespace === rollout.namespace && name === rollout.name
  queryClient.setQueryData(rolloutQueries.list(application).queryKey, (all) => all?.map((one) => (isSame(one) ? rollout : one)))
  void queryClient.invalidateQueries({ queryKey: ['live-application', application] })
}
