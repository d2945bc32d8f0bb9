/** The monitor process in a cluster. Exit codes: 0 stopped; 4 refused by the server; 1 any other error. */
import { isFault, nodeTransport, openLog, stopSignal, systemClock, type Logger } from '@windlass/kit'
import { accessOf, openKube } from '@windlass/kube'
import { createClient } from '@windlass/protocol'
import { environment, monitorConfig, type MonitorConfig } from './config.ts'
import { serveHealth } from './health.ts'
import { startMonitor } from './monitor.ts'

async function run(config: MonitorConfig, log: Logger): Promise<number> {
  const access = await accessOf(config.KUBECONFIG, {
    environment: environment(),
    setting: 'WINDLASS_MONITOR_KUBECONFIG',
  })
  const kube = openKube({ access, log, qps: 20, burst: 50 })
  const transport = nodeTransport({ caFile: config.CA })
  const monitor = startMonitor({
    kube,
    client: createClient({ url: config.SERVER_URL, token: config.TOKEN, transport }),
    clock: systemClock,
    log,
    cluster: config.CLUSTER,
    namespaces: config.NAMESPACES,
    helm: config.HELM,
  })
  const health = config.PORT === undefined ? undefined : await serveHealth({ monitor, clock: systemClock, port: config.PORT })
  stopSignal().addEventListener('abort', () => void monitor.close(), { once: true })
  log.info({ server: config.SERVER_URL, cluster: config.CLUSTER }, 'monitor started')
  try {
    await monitor.ended
    return 0
  } catch (error) {
    if (!isFault(error, 'unauthenticated', 'forbidden')) throw error
    log.error({ err: error }, 'the server refused this monitor')
    return 4
  } finally {
    await health?.[Symbol.asyncDispose]()
    kube.close()
  }
}

const log = openLog({ level: 'info', name: 'monitor' })
try {
  const config = monitorConfig()
  process.exitCode = await run(config, openLog({ level: config.LOG_LEVEL, name: 'monitor' }))
} catch (error) {
  log.fatal({ err: error }, 'monitor failed')
  process.exitCode = 1
}
