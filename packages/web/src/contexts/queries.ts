/** What the screens of contexts read from the server. */
import { listAll } from '@windlass/client'
import { queryOptions } from '@tanstack/react-query'
import { client } from '../server/client.ts'

/** Pipelines and triggers that are searched for the use of a context. */
const MOST = 2_000

export interface ContextUse {
  readonly kind: 'pipeline' | 'trigger'
  readonly pipeline: string
  /** Name of the trigger. */
  readonly trigger?: string
}

export const contextQueries = {
  list: () => queryOptions({ queryKey: ['contexts'], queryFn: ({ signal }) => client.contexts.list({ signal }) }),
  one: (name: string) =>
    queryOptions({ queryKey: ['contexts', name], queryFn: ({ signal }) => client.contexts.get(name, { signal }) }),
  /** What names a context in its settings. Documents can also name contexts. */
  uses: (name: string) =>
    queryOptions({ queryKey: ['contexts', name, 'uses'], queryFn: () => findUses(name), staleTime: 30_000 }),
}

async function findUses(name: string): Promise<readonly ContextUse[]> {
  const [pipelines, triggers, crons, events] = await Promise.all([
    listAll(({ query }) => client.pipelines.list({ query }), MOST),
    listAll(({ query }) => client.triggers.list({ query }), MOST),
    listAll(({ query }) => client.cronTriggers.list({ query }), MOST),
    listAll(({ query }) => client.eventTriggers.list({ query }), MOST),
  ])
  const named = [...triggers, ...crons, ...events].filter(
    (trigger) => trigger.contexts.includes(name) || ('context' in trigger && trigger.context === name),
  )
  return [
    ...pipelines
      .filter(({ contexts }) => contexts.includes(name))
      .map((pipeline) => ({ kind: 'pipeline', pipeline: pipeline.name }) as const),
    ...named.map(({ pipeline, name: trigger }) => ({ kind: 'trigger', pipeline, trigger }) as const),
  ]
}
