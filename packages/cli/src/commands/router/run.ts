/** Runs `router run`: the router of a GitOps runtime until a signal stops it. */
import { aborted, defined, openLog, stopSignal, systemClock } from '@windlass/kit'
import { readRouterConfig, serveRouterMetrics, startRouter, toRouterOptions } from '@windlass/router'
import type { Invocation } from '../../command.ts'

interface RunOptions {
  readonly port: number | undefined
  readonly metricsPort: number | undefined
  readonly appProxyUrl: string | undefined
  readonly workflowsUrl: string | undefined
  readonly webhookNamespaces: string | undefined
  readonly trustedProxies: string | undefined
}

/** Runs the command. Resolves when the router has stopped. */
export async function runRouter({ options, settings }: Invocation<RunOptions>): Promise<void> {
  const { environment, debug } = settings
  const config = readRouterConfig({
    ...environment,
    ...defined({
      WINDLASS_ROUTER_PORT: options.port?.toString(),
      WINDLASS_ROUTER_METRICS_PORT: options.metricsPort?.toString(),
      WINDLASS_ROUTER_APP_PROXY_URL: options.appProxyUrl,
      WINDLASS_ROUTER_WORKFLOWS_URL: options.workflowsUrl,
      WINDLASS_ROUTER_WEBHOOK_NAMESPACES: options.webhookNamespaces,
      WINDLASS_ROUTER_TRUSTED_PROXIES: options.trustedProxies,
    }),
  })
  const signal = stopSignal()
  const log = openLog({ level: debug ? 'debug' : config.LOG_LEVEL, name: 'router' })
  const router = await startRouter(toRouterOptions(config, { clock: systemClock, log }))
  const metrics = config.METRICS_PORT === undefined ? undefined : await serveRouterMetrics(router, config.METRICS_PORT)
  await aborted(signal)
  log.info('the router ends its calls and stops')
  await router.close()
  await metrics?.[Symbol.asyncDispose]()
}
