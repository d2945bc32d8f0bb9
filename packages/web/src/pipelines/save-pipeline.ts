/** Writes a pipeline, guarded by the revision that the writer has read. */
import { isFault } from '@windlass/kit/faults'
import type { Pipeline, PipelineInput } from '@windlass/protocol'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'

/** Fields of a pipeline that a document can write, by the field of `spec`. */
const WRITTEN = {
  variables: { variables: [] },
  contexts: { contexts: [] },
  runtimeEnvironment: { runtime: undefined },
  concurrency: { concurrency: undefined },
  branchConcurrency: { branchConcurrency: undefined },
  triggerConcurrency: { triggerConcurrency: undefined },
  priority: { priority: 0 },
} as const satisfies Readonly<Record<string, Partial<Record<keyof PipelineInput, unknown>>>>

/** Returns the body that stores a pipeline again. What its document wrote is left to the next document. */
export function toInput(pipeline: Pipeline, written: readonly string[] = []): PipelineInput {
  const { name, document, variables, contexts, runtime, concurrency, branchConcurrency, triggerConcurrency, priority, settings } =
    pipeline
  const all = {
    name,
    document,
    variables,
    contexts,
    runtime,
    concurrency,
    branchConcurrency,
    triggerConcurrency,
    priority,
    settings,
  }
  const left = Object.entries(WRITTEN).flatMap(([key, fields]) => (written.includes(key) ? [fields] : []))
  return Object.assign(all, ...left) as PipelineInput
}

/** Stores a pipeline if it still has the revision of `base`. Throws `conflict` if it was changed since. */
export async function savePipeline(base: Pipeline, input: PipelineInput): Promise<Pipeline> {
  const saved = await client.pipelines.put(base.id, input, { headers: { 'if-match': `"${base.revision}"` } })
  queryClient.setQueryData(queries.pipeline(saved.name).queryKey, saved)
  void queryClient.invalidateQueries({ queryKey: ['pipelines'] })
  void queryClient.invalidateQueries({ queryKey: ['pipeline', saved.name] })
  return saved
}

/** Returns true if a save failed because the pipeline was changed in the meantime. */
export function isConflict(error: unknown): boolean {
  return isFault(error) && error.code === 'conflict'
}
