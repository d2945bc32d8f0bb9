/** One attached runtime, as the agent reads it: how to reach its cluster (runner specification 2.2). Pure. */
import { stringify } from 'yaml'

export interface RuntimeFile {
  readonly name: string
  /** URL of the API server, as the agent reaches it. */
  readonly host: string
  /** Token of a service account there. */
  readonly token: string
  /** PEM of the cluster's authority. */
  readonly crt: string | undefined
}

/** Text of `<name>.runtime.yaml`. */
export function runtimeFileText({ name, host, token, crt }: RuntimeFile): string {
  return stringify({ type: 'runtime', name, host, token, ...(crt !== undefined && { crt }) }, { lineWidth: 0 })
}
