/** Runs `tunnel run`: the client of a tunnel until a signal stops it. */
import { aborted, defined, openLog, stopSignal, systemClock } from '@windlass/kit'
import { VERSION } from '@windlass/plan/version'
import { readTunnelClientConfig, serveTunnelHealth, startTunnelClient, toTunnelClientOptions } from '@windlass/tunnel/client'
import type { Invocation } from '../../command.ts'

interface RunOptions {
  readonly serverUrl: string | undefined
  readonly runtime: string | undefined
  readonly tokenFile: string | undefined
  readonly routerUrl: string | undefined
  readonly caFile: string | undefined
  readonly port: number | undefined
}

/** Runs the command. Resolves when the client has stopped. */
export async function runTunnel({ options, settings }: Invocation<RunOptions>): Promise<void> {
  const { environment, debug } = settings
  const config = readTunnelClientConfig({
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
  const signal = stopSignal()
  const log = openLog({ level: debug ? 'debug' : config.LOG_LEVEL, name: 'tunnel' })
  const client = startTunnelClient(toTunnelClientOptions(config, { env: environment, clock: systemClock, log, version: VERSION }))
  const health = config.PORT === undefined ? undefined : await serveTunnelHealth(client, config.PORT)
  await aborted(signal)
  log.info('the tunnel ends its calls and stops')
  await client.close()
  await health?.[Symbol.asyncDispose]()
}
