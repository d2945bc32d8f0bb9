/** Writes the own layer of a runtime, unless it has changed since it was read. */
import { isFault } from '@windlass/kit/faults'
import { leavesOf, type Runtime, type RuntimeLayer } from '@windlass/protocol'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'

interface Save {
  /** The runtime as it was read. Only its version is replaced. */
  readonly runtime: Runtime
  readonly spec: RuntimeLayer
  /** Why, for the history. */
  readonly description?: string | undefined
}

/** Replaces the layer. Throws `conflict` if the runtime has another version by now. */
export async function saveRuntime(save: Save): Promise<Runtime> {
  const saved = await put(save)
  refreshRuntimes()
  return saved
}

async function put({ runtime, spec, description }: Save): Promise<Runtime> {
  const { name, type, agent, isDefault, version } = runtime
  const body = { name, type, isDefault, spec, ...(agent !== undefined && { agent }) }
  try {
    return await client.runtimes.put(name, body, {
      headers: { 'if-match': `"${version}"` },
      ...(description !== undefined && description !== '' && { query: { description } }),
    })
  } catch (error) {
    if (!isFault(error, 'conflict')) throw error
    const found = await client.runtimes.get(name).catch(() => undefined)
    // The answer to an earlier try of this save may have been lost.
    if (found?.version !== version + 1 || valuesOf(found.spec) !== valuesOf(spec)) throw error
    return found
  }
}

/** Returns the values of a layer, in one order. */
function valuesOf(layer: RuntimeLayer): string {
  return JSON.stringify([...leavesOf(layer)].toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

/** Reads everything about runtimes again. */
export function refreshRuntimes(): void {
  void queryClient.invalidateQueries({ queryKey: ['runtimes'] })
}
