/** Writes a pipeline, guarded by the revision that the writer has read. */
import { isFault } from '@windlass/kit/faults'
import { PipelineInput, type Pipeline } from '@windlass/protocol'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { toInput } from './pipeline-input.ts'

/** Stores a pipeline if it still has the revision of `base`. Throws `conflict` if it was changed since. */
export async function savePipeline(base: Pipeline, input: PipelineInput): Promise<Pipeline> {
  const saved = await put(base, input)
  queryClient.setQueryData(queries.pipeline(saved.name).queryKey, saved)
  void queryClient.invalidateQueries({ queryKey: ['pipelines'] })
  void queryClient.invalidateQueries({ queryKey: ['pipeline', saved.name] })
  return saved
}

async function put(base: Pipeline, input: PipelineInput): Promise<Pipeline> {
  try {
    return await client.pipelines.put(base.id, input, { headers: { 'if-match': `"${base.revision}"` } })
  } catch (error) {
    if (!isFault(error, 'conflict')) throw error
    const found = await client.pipelines.get(base.id).catch(() => undefined)
    // The answer to an earlier try of this save may have been lost.
    if (found === undefined || !isNext(found, base, input)) throw error
    return found
  }
}

/** Returns true if the pipeline is what the save of `input` over `base` makes of it. */
function isNext(found: Pipeline, base: Pipeline, input: PipelineInput): boolean {
  if (found.revision !== base.revision + 1 || found.document !== input.document) return false
  // Other fields can come from a new document.
  return input.document !== base.document || contentOf(found) === contentOf(input)
}

function contentOf(fields: Pipeline | PipelineInput): string {
  return JSON.stringify(PipelineInput.safeParse(toInput(fields as Pipeline)).data)
}
