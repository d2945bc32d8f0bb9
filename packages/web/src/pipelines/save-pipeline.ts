/** Writes a pipeline, guarded by the revision that the writer has read. */
import type { Pipeline, PipelineInput } from '@windlass/protocol'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'

/** Stores a pipeline if it still has the revision of `base`. Throws `conflict` if it was changed since. */
export async function savePipeline(base: Pipeline, input: PipelineInput): Promise<Pipeline> {
  const saved = await client.pipelines.put(base.id, input, { headers: { 'if-match': `"${base.revision}"` } })
  queryClient.setQueryData(queries.pipeline(saved.name).queryKey, saved)
  void queryClient.invalidateQueries({ queryKey: ['pipelines'] })
  void queryClient.invalidateQueries({ queryKey: ['pipeline', saved.name] })
  return saved
}
