/** One attached runtime, as the agent reads it: how to reach its cluster (runner specification 2.2). Pure. */
import { stringify } from 'yaml'

export interface RuntimeFile {
  readonly name: string
  /** Namespaces that its builds may use. */
  readonly namespaces: readonly string[]
  /** Absent for the agent's own cluster. */
  readonly remote?: {
    /** URL of the API server, as the agent reaches it. */
    readonly host: string
    /** Token of a service account there. */
    readonly token: string
    /** PEM of the cluster's authority. */
    readonly crt: string | undefined
  }
}

/** Where the chart mounts the files into the agent. */
export const RUNTIMES_FOLDER = '/etc/secrets'
/** Setting of the agent that names the folder. */
export const FOLDER_VARIABLE = 'WINDLASS_AGENT_CONFIG_DIR'

/** Text of `<name>.runtime.yaml`. */
export function runtimeFileText({ name, namespaces, remote }: RuntimeFile): string {
  const cluster =
    remote === undefined
      ? { inCluster: true }
      : { host: remote.host, token: remote.token, ...(remote.crt !== undefined && { crt: remote.crt }) }
  return stringify({ type: 'runtime', name, ...cluster, namespaces }, { lineWidth: 0 })
}
