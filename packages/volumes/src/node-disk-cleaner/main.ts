/**
 * The process on every node that keeps the file system of local disks from filling up. SIGUSR1 toggles debug lines, SIGUSR2 toggles
 * removals.
 */
import { mkdir } from 'node:fs/promises'
import { openLog, stopSignal, systemClock, type Logger } from '@windlass/kit'
import { accessOf, openKube } from '@windlass/kube'
import { environment, nodeDiskCleanerConfig, type NodeDiskCleanerConfig } from './config.ts'
import { startNodeDiskCleaner } from './node-disk-cleaner.ts'

async function run(config: NodeDiskCleanerConfig): Promise<void> {
  const signal = stopSignal()
  const access = await accessOf(config.KUBECONFIG, {
    environment: environment(),
    setting: 'WINDLASS_LOCAL_MONITOR_KUBECONFIG',
  })
  const log = openLog({ name: 'node-disk-cleaner', level: 'debug' })
  const kube = openKube({ access, log })
  await mkdir(config.PARENT_DIR, { recursive: true })
  let isDebugging = config.DEBUG
  let isPaused = false
  process.on('SIGUSR1', () => {
    isDebugging = !isDebugging
    log.info({ isDebugging }, 'debug lines toggled')
  })
  process.on('SIGUSR2', () => {
    isPaused = !isPaused
    log.info({ isPaused }, 'removals toggled')
  })
  const cleaner = await startNodeDiskCleaner({
    config,
    kube,
    clock: systemClock,
    log: quietUnless(log, () => isDebugging),
    signal,
    isPaused: () => isPaused,
  })
  try {
    await cleaner.ended
  } finally {
    kube.close()
  }
}

/** Returns the log without its debug lines while `isLoud` returns false. */
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

const log = openLog({ name: 'node-disk-cleaner', level: 'info' })
try {
  await run(nodeDiskCleanerConfig())
} catch (error) {
  log.fatal({ err: error }, 'node disk cleaner failed')
  process.exitCode = 1
}
