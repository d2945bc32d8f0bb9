/** What the editor and the form of a run read from the server. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { Build, PlanInput } from '@windlass/protocol'
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
  /** The document that the newest build read from a repository. */
  readDocument: (pipeline: string) =>
    queryOptions({
      queryKey: ['builds', 'last', pipeline],
      queryFn: ({ signal }) => readDocument(pipeline, signal),
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

/** A document of a repository and the build that read it. */
export interface ReadDocument {
  readonly build: Build
  readonly text: string
}

async function readDocument(pipeline: string, signal: AbortSignal): Promise<ReadDocument | null> {
  const { items } = await client.builds.list({ signal, query: { pipeline, limit: 1 } })
  const build = items[0]
  if (build === undefined) return null
  const { fetched } = await client.builds.plan(build.id, { signal })
  return fetched === undefined ? null : { build, text: fetched }
}
