/** The provisioner process. Exit codes: 0 stopped; 3 another process took over; 1 any other error. */
import { hostname } from 'node:os'
import { aborted, newId, openLog, sha256, stopSignal, systemClock, type Logger } from '@windlass/kit'
import { accessOf, openKube, openLeadership } from '@windlass/kube'
import { backendOpener } from '../backends/open.ts'
import { environment, provisionerConfig, type ProvisionerConfig } from './config.ts'
import { serveHealth } from './health.ts'
import { startProvisioner, type Provisioner } from './provisioner.ts'

const EXIT = { stopped: 0, failed: 1, fenced: 3 } as const

async function run(config: ProvisionerConfig, log: Logger): Promise<number> {
  const stopped = stopSignal()
  const access = await accessOf(config.KUBECONFIG, {
    environment: environment(),
    setting: 'WINDLASS_PROVISIONER_KUBECONFIG',
  })
  const namespace = config.NAMESPACE ?? access.namespace
  const provisionerName = config.NAME ?? `codefresh.io/dind-volume-provisioner-runner-${namespace}`
  const kube = openKube({ access, log, qps: config.QPS, burst: config.BURST })
  const clock = systemClock
  let provisioner: Provisioner | undefined
  await using health = await serveHealth(config.PORT, () => provisioner)
  log.info({ cluster: access.server, provisionerName, port: health.port }, 'waiting for the lease')
  const name = `dind-volume-provisioner-${sha256(provisionerName).slice(0, 8)}`
  const holder = `${hostname()}_${newId(clock.now())}`
  // The lease only avoids duplicate work. Builds are kept apart by compare-and-swap writes on volumes, so a holder that slept for longer than its
  // lease does no harm.
  const leadership = openLeadership({ kube, namespace, name, holder, clock, log, leaseMs: config.LEASE_SECONDS * 1000 })
  let isFenced = false
  const stop = new AbortController()
  /** Works until the signal. The uid of the lease identifies the installation. */
  const provision = async (signal: AbortSignal): Promise<void> => {
    const owner = (await kube.find({ kind: 'Lease', name, namespace }, signal))?.metadata.uid
    if (owner === undefined) throw new Error(`the lease ${namespace}/${name} was deleted while it was acquired`)
    provisioner = startProvisioner(
      {
        kube,
        clock,
        log,
        provisionerName,
        owner,
        threads: config.THREADS,
        resyncMs: config.RESYNC_SECONDS * 1000,
        orphansMs: config.ORPHANS_SECONDS * 1000,
        openBackend: backendOpener({ kube, clock, log, config, namespace, owner, env: environment() }),
      },
      signal,
    )
    log.info({ provisionerName }, 'provisioner started')
    await aborted(signal)
  }
  const work = async (term: AbortSignal): Promise<void> => {
    const signal = AbortSignal.any([term, stopped])
    try {
      await provision(signal)
    } catch (error) {
      // The lease can also be lost while its uid is read.
      if (!signal.aborted) throw error
    }
    isFenced = !stopped.aborted
    // Another process works now. This one restarts from nothing and waits.
    stop.abort()
  }
  try {
    await leadership.lead(work, AbortSignal.any([stopped, stop.signal]))
  } finally {
    kube.close()
  }
  return isFenced ? EXIT.fenced : EXIT.stopped
}

const log = openLog({ level: 'info', name: 'provisioner' })
try {
  const config = provisionerConfig()
  process.exitCode = await run(config, openLog({ level: config.LOG_LEVEL, name: 'provisioner' }))
} catch (error) {
  log.fatal({ err: error }, 'provisioner failed')
  process.exitCode = EXIT.failed
}
