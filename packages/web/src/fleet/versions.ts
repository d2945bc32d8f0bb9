/** Versions of agents beside the version of the server. */
import { releaseOf, type Agent } from '@windlass/protocol'

/** Returns true if an agent is of another release than the server. Agents of protocol v1 may have the version of another product. */
export function isOtherRelease({ protocol, version }: Pick<Agent, 'protocol' | 'version'>, server: string | undefined): boolean {
  return protocol === 2 && version !== undefined && server !== undefined && releaseOf(version) !== releaseOf(server)
}
