/** Runs `app-proxy run`: the app-proxy of a GitOps runtime until a signal stops it. */
import { readAppProxyConfig, startAppProxy, toAppProxyOptions } from '@windlass/app-proxy'
import { aborted, defined, openLog, stopSignal, systemClock } from '@windlass/kit'
import { VERSION } from '@windlass/plan/version'
import type { Invocation } from '../../command.ts'

interface RunOptions {
  readonly serverUrl: string | undefined
  readonly runtime: string | undefined
  readonly accountId: string | undefined
  readonly tokenFile: string | undefined
  readonly kubeconfig: string | undefined
  readonly port: number | undefined
}

/** Runs the command. Resolves when the app-proxy has stopped. */
export async function runAppProxy({ options, settings }: Invocation<RunOptions>): Promise<void> {
  const { environment, debug } = settings
  const config = readAppProxyConfig({
    ...environment,
    ...defined({
      WINDLASS_APP_PROXY_SERVER_URL: options.serverUrl,
      WINDLASS_APP_PROXY_RUNTIME: options.runtime,
      WINDLASS_APP_PROXY_ACCOUNT_ID: options.accountId,
      WINDLASS_APP_PROXY_TOKEN_PATH: options.tokenFile,
      WINDLASS_APP_PROXY_KUBECONFIG: options.kubeconfig,
      WINDLASS_APP_PROXY_PORT: options.port?.toString(),
    }),
  })
  const signal = stopSignal()
  const log = openLog({ level: debug ? 'debug' : config.LOG_LEVEL, name: 'app-proxy' })
  const proxy = await startAppProxy(await toAppProxyOptions(config, { environment, clock: systemClock, log, version: VERSION }))
  await aborted(signal)
  log.info('the app-proxy ends its calls and stops')
  await proxy.close()
}
