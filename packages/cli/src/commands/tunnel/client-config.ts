/** The settings of a tunnel client: options, and variables for those that are absent. */
import { defined } from '@windlass/kit'
import { readTunnelClientConfig } from '@windlass/tunnel/client'
import type { Settings } from '../../config.ts'

export interface ClientOptions {
  readonly serverUrl: string | undefined
  readonly runtime: string | undefined
  readonly tokenFile: string | undefined
  readonly routerUrl?: string | undefined
  readonly caFile: string | undefined
  readonly port?: number | undefined
}

/** Throws `config-invalid` that lists every setting that is missing or invalid. */
export function clientConfig(
  options: ClientOptions,
  { environment }: Pick<Settings, 'environment'>,
): ReturnType<typeof readTunnelClientConfig> {
  return readTunnelClientConfig({
    ...environment,
    ...defined({
      WINDLASS_TUNNEL_SERVER_URL: options.serverUrl,
      WINDLASS_TUNNEL_RUNTIME: options.runtime,
      WINDLASS_TUNNEL_TOKEN_PATH: options.tokenFile,
      WINDLASS_TUNNEL_ROUTER_URL: options.routerUrl,
      WINDLASS_TUNNEL_CA_PATH: options.caFile,
      WINDLASS_TUNNEL_PORT: options.port?.toString(),
    }),
  })
}
