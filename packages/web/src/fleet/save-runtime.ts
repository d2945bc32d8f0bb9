/** Writes the own layer of a runtime, unless it has changed since it was read. */
import type { Runtime, RuntimeLayer } from '@windlass/protocol'
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
export async function saveRuntime({ runtime, spec, description }: Save): Promise<Runtime> {
  const { name, type, agent, isDefault, version } = runtime
  const body = { name, type, isDefault, spec, ...(agent !== undefined && { agent }) }
  const saved = await client.runtimes.put(name, body, {
    headers: { 'if-match': `"${version}"` },
    ...(description !== undefined && description !== '' && { query: { description } }),
  })
  refreshRuntimes()
  return saved
}

/** Reads everything about runtimes again. */
export function refreshRuntimes(): void {
  void queryClient.invalidateQueries({ queryKey: ['runtimes'] })
}
