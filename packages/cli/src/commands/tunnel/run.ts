/** Runs `tunnel run`: the client of a tunnel until a signal stops it. */
import { aborted, openLog, stopSignal, systemClock } from '@windlass/kit'
import { VERSION } from '@windlass/plan/version'
import { serveTunnelHealth, startTunnelClient, toTunnelClientOptions } from '@windlass/tunnel/client'
import type { Invocation } from '../../command.ts'
import { clientConfig, type ClientOptions } from './client-config.ts'

/** Runs the command. Resolves when the client has stopped. */
export async function runTunnel({ options, settings }: Invocation<ClientOptions>): Promise<void> {
  const { environment, debug } = settings
  const config = clientConfig(options, settings)
  const signal = stopSignal()
  const log = openLog({ level: debug ? 'debug' : config.LOG_LEVEL, name: 'tunnel' })
  const client = startTunnelClient(toTunnelClientOptions(config, { env: environment, clock: systemClock, log, version: VERSION }))
  const health = config.PORT === undefined ? undefined : await serveTunnelHealth(client, config.PORT)
  await aborted(signal)
  log.info('the tunnel ends its calls and stops')
  await client.close()
  await health?.[Symbol.asyncDispose]()
}
