/** What the editor and the form of a run read from the server. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { PlanInput } from '@windlass/protocol'
import { client } from '../server/client.ts'

const MINUTE = 60_000

export const editorQueries = {
  /** What a build would do and wait for if it were started now. */
  plan: (input: PlanInput) =>
    queryOptions({
      queryKey: ['plan', input],
      queryFn: ({ signal }) => client.builds.preview(input, { signal }),
      placeholderData: keepPreviousData,
      retry: false,
      staleTime: 10_000,
      gcTime: MINUTE,
    }),
  lastBuild: (pipeline: string) =>
    queryOptions({
      queryKey: ['builds', 'last', pipeline],
      queryFn: ({ signal }) => client.builds.list({ signal, query: { pipeline, limit: 1 } }),
    }),
  contexts: () =>
    queryOptions({
      queryKey: ['contexts'],
      queryFn: ({ signal }) => client.contexts.list({ signal }),
      staleTime: MINUTE,
      retry: false,
    }),
  runtimes: () =>
    queryOptions({
      queryKey: ['runtimes'],
      queryFn: ({ signal }) => client.runtimes.list({ signal }),
      staleTime: MINUTE,
      retry: false,
    }),
  /** A version of a step type with its manifest: `name` or `name:version`. */
  stepType: (name: string) =>
    queryOptions({
      queryKey: ['step-type', name],
      queryFn: ({ signal }) => client.stepTypes.get(name, { signal }),
      staleTime: MINUTE,
      retry: false,
    }),
  stepTypes: () =>
    queryOptions({
      queryKey: ['step-types'],
      queryFn: ({ signal }) => client.stepTypes.list({ signal, query: { limit: 500 } }),
      staleTime: MINUTE,
      retry: false,
    }),
}
