/** The file of an attached runtime, which tells the agent how to reach its cluster. Pure. */
import { defined } from '@windlass/kit/defined'
import { stringify } from 'yaml'

export interface RuntimeFile {
  readonly name: string
  /** Namespaces that its builds may use. */
  readonly namespaces: readonly string[]
  /** Policy for builds: settings of the agent without their prefix. By default the agent's own settings apply. */
  readonly policy?: Readonly<Record<string, string>> | undefined
  /** Undefined for the agent's own cluster. */
  readonly remote?: {
    /** URL of the API server for the agent. */
    readonly host: string
    /** Token of a service account in that cluster. */
    readonly token: string
    /** PEM of the cluster's certificate authority. */
    readonly crt: string | undefined
  }
}

/** Folder in the agent where the chart mounts the files. */
export const RUNTIMES_FOLDER = '/etc/secrets'
/** Agent setting for the folder. */
export const FOLDER_VARIABLE = 'WINDLASS_AGENT_CONFIG_DIR'

/** Returns the text of `<name>.runtime.yaml`. */
export function runtimeFileText({ name, namespaces, policy, remote }: RuntimeFile): string {
  const cluster =
    remote === undefined ? { inCluster: true } : { host: remote.host, token: remote.token, ...defined({ crt: remote.crt }) }
  return stringify({ type: 'runtime', name, ...cluster, namespaces, ...(policy && { policy }) }, { lineWidth: 0 })
}
