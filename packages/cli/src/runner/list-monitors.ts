import type { ApiClient } from '@windlass/client'
import type { Monitor } from '@windlass/protocol'

/** Returns the monitors of existing agents; those of deleted agents no longer report. */
export async function listLiveMonitors({ monitors, agents }: ApiClient): Promise<Monitor[]> {
  const [reported, existing] = await Promise.all([monitors.list(), agents.list()])
  return reported.items.filter(({ agentId }) => existing.items.some(({ id }) => id === agentId))
}
