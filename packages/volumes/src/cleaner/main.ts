/**
 * The cleaner jobs. Without an argument, removes disks that were unused for RETENTION_DAYS. With `-m`, removes those that were used more
 * than a day ago and by fewer than MOUNT_MIN builds. With `leftovers`, removes pods and claims that builds have left.
 */
import { fault, openLog, stopSignal, systemClock, type Logger } from '@windlass/kit'
import { accessOf, openKube, type Kube } from '@windlass/kube'
import { cleanerConfig, environment, type CleanerConfig } from './config.ts'
import { removeLeftovers } from './leftovers.ts'
import { removeUnusedDisks } from './unused-disks.ts'

async function run(config: CleanerConfig, mode: string, log: Logger): Promise<void> {
  const access = await accessOf(config.KUBECONFIG, {
    environment: environment(),
    setting: 'WINDLASS_CLEANER_KUBECONFIG',
  })
  const kube = openKube({ access, log })
  try {
    await clean(config, mode, { kube, log })
  } finally {
    kube.close()
  }
}

async function clean(config: CleanerConfig, mode: string, { kube, log }: { kube: Kube; log: Logger }): Promise<void> {
  const common = { kube, log, clock: systemClock, dryRun: config.DRY_RUN, signal: stopSignal() }
  if (mode === 'leftovers') {
    const namespaces = config.NAMESPACES.length === 0 ? [kube.namespace] : config.NAMESPACES
    await removeLeftovers({ ...common, namespaces })
    return
  }
  if (mode !== '' && mode !== '-m')
    throw fault('config-invalid', { message: `unknown argument "${mode}"`, hint: 'Pass `-m`, `leftovers` or no argument.' })
  const mountMin = mode === '-m' ? config.MOUNT_MIN : undefined
  const rules = { retentionDays: config.RETENTION_DAYS, mountMin, provisionedBy: config.PROVISIONED_BY }
  await removeUnusedDisks({ ...common, rules })
}

const log = openLog({ name: 'cleaner', level: 'info' })
try {
  const config = cleanerConfig()
  await run(config, process.argv[2] ?? '', openLog({ name: 'cleaner', level: config.LOG_LEVEL }))
} catch (error) {
  log.fatal({ err: error }, 'cleaner failed')
  process.exitCode = 1
}
