/** The process on every node that keeps the file system of local disks from filling up. SIGUSR1 turns debug lines on and off, SIGUSR2 removals. */
import { mkdir } from 'node:fs/promises'
import { fault, openLog, stopSignal, systemClock, type Logger } from '@windlass/kit'
import { inCluster, openKube, readKubeconfig } from '@windlass/kube'
import { environment, localMonitorConfig, type LocalMonitorConfig } from './config.ts'
import { startLocalMonitor } from './monitor.ts'

async function run(config: LocalMonitorConfig): Promise<void> {
  const signal = stopSignal()
  const access = config.KUBECONFIG === undefined ? inCluster(environment()) : await readKubeconfig(config.KUBECONFIG)
  if (access === undefined)
    throw fault('config-invalid', {
      message: 'This is not a pod of a cluster, and WINDLASS_LOCAL_MONITOR_KUBECONFIG names no kubeconfig.',
    })
  const log = openLog({ name: 'local-monitor', level: 'debug' })
  const kube = openKube({ access, log })
  await mkdir(config.PARENT_DIR, { recursive: true })
  let isDebugging = config.DEBUG
  let isPaused = false
  process.on('SIGUSR1', () => {
    isDebugging = !isDebugging
    log.info({ isDebugging }, 'debug lines switched')
  })
  process.on('SIGUSR2', () => {
    isPaused = !isPaused
    log.info({ isPaused }, 'removals switched')
  })
  const monitor = await startLocalMonitor({
    config,
    kube,
    clock: systemClock,
    log: quietUnless(log, () => isDebugging),
    signal,
    isPaused: () => isPaused,
  })
  try {
    await monitor.ended
  } finally {
    kube.close()
  }
}

/** The same log without its debug lines while `isLoud` says no. */
function quietUnless(log: Logger, isLoud: () => boolean): Logger {
  const debug: Logger['debug'] = (...line: Parameters<Logger['debug']>) => {
    if (isLoud()) log.debug(...line)
  }
  return {
    debug,
    info: log.info.bind(log),
    warn: log.warn.bind(log),
    error: log.error.bind(log),
    fatal: log.fatal.bind(log),
    child: (fields) => quietUnless(log.child(fields), isLoud),
  }
}

const log = openLog({ name: 'local-monitor', level: 'info' })
try {
  await run(localMonitorConfig())
} catch (error) {
  log.fatal({ err: error }, 'monitor of local disks failed')
  process.exitCode = 1
}
