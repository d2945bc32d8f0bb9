/** What the screens of runtimes and agents read. The keys begin as those of the lists, which the stream reads again after a change. */
import { queryOptions } from '@tanstack/react-query'
import { client } from '../server/client.ts'
import { HEALTH_MS } from '../server/queries.ts'

const ACTIVITY_MS = 30_000
const INSTALLATION_MS = 3_000
/** Objects of a namespace that a screen shows. */
const MAX_OBJECTS = 500

export const fleet = {
  /** A runtime with its own layer. */
  runtime: (name: string) =>
    queryOptions({
      queryKey: ['runtimes', 'one', name],
      queryFn: ({ signal }) => client.runtimes.get(name, { signal }),
    }),
  /** A runtime with the values of all layers, and where each comes from. */
  merged: (name: string) =>
    queryOptions({
      queryKey: ['runtimes', 'one', name, 'merged'],
      queryFn: ({ signal }) => client.runtimes.get(name, { signal, query: { merged: true } }),
    }),
  health: (name: string) =>
    queryOptions({
      queryKey: ['runtimes', 'one', name, 'health'],
      queryFn: ({ signal }) => client.health.runtime(name, { signal }),
      refetchInterval: HEALTH_MS,
    }),
  activity: (name: string) =>
    queryOptions({
      queryKey: ['runtimes', 'one', name, 'activity'],
      queryFn: ({ signal }) => client.runtimes.activity(name, { signal }),
      refetchInterval: ACTIVITY_MS,
    }),
  versions: (name: string) =>
    queryOptions({
      queryKey: ['runtimes', 'one', name, 'versions'],
      queryFn: ({ signal }) => client.runtimes.versions(name, { signal }),
    }),
  diff: (name: string, range: { readonly from: number; readonly to: number }) =>
    queryOptions({
      queryKey: ['runtimes', 'one', name, 'diff', range],
      queryFn: ({ signal }) => client.runtimes.diff(name, { signal, query: range }),
    }),
  agent: (name: string) =>
    queryOptions({
      queryKey: ['agents', 'one', name],
      queryFn: ({ signal }) => client.agents.get(name, { signal }),
      refetchInterval: HEALTH_MS,
    }),
  monitors: () => queryOptions({ queryKey: ['monitors'], queryFn: ({ signal }) => client.monitors.list({ signal }) }),
  pods: (cluster: string, namespace: string | undefined) =>
    queryOptions({
      queryKey: ['monitors', cluster, 'pods', namespace],
      queryFn: ({ signal }) =>
        client.monitors.objects(cluster, { signal, query: { kind: 'Pod', namespace, limit: MAX_OBJECTS } }),
      refetchInterval: HEALTH_MS,
    }),
  installations: () =>
    queryOptions({
      queryKey: ['installations'],
      queryFn: ({ signal }) => client.installations.list({ signal }),
      refetchInterval: INSTALLATION_MS,
    }),
}
