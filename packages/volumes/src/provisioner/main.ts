/** The provisioner process. Exit codes: 0 stopped; 3 another process took over; 1 anything else. */
import { hostname } from 'node:os'
import { fault, isFault, newId, openLog, sha256, stopSignal, systemClock, type Logger } from '@windlass/kit'
import { inCluster, openKube, readKubeconfig, type ClusterAccess } from '@windlass/kube'
import { backendOpener } from '../backends/open.ts'
import { environment, provisionerConfig, type ProvisionerConfig } from './config.ts'
import { serveHealth } from './health.ts'
import { holdLease } from './lease.ts'
import { startProvisioner, type Provisioner } from './provisioner.ts'

const EXIT = { stopped: 0, failed: 1, fenced: 3 } as const

async function clusterAccess(config: ProvisionerConfig): Promise<ClusterAccess> {
  const access = config.KUBECONFIG === undefined ? inCluster(environment()) : await readKubeconfig(config.KUBECONFIG)
  if (access !== undefined) return access
  throw fault('config-invalid', {
    message: 'This is not a pod of a cluster, and WINDLASS_PROVISIONER_KUBECONFIG names no kubeconfig.',
  })
}

async function run(config: ProvisionerConfig, log: Logger): Promise<number> {
  const stopped = stopSignal()
  const access = await clusterAccess(config)
  const namespace = config.NAMESPACE ?? access.namespace
  const provisionerName = config.NAME ?? `codefresh.io/dind-volume-provisioner-runner-${namespace}`
  const kube = openKube({ access, log, qps: config.QPS, burst: config.BURST })
  const clock = systemClock
  let provisioner: Provisioner | undefined
  await using health = await serveHealth(config.PORT, () => provisioner)
  log.info({ cluster: access.server, provisionerName, port: health.port }, 'waiting for the lease')
  const name = `dind-volume-provisioner-${sha256(provisionerName).slice(0, 8)}`
  const holder = `${hostname()}_${newId(clock.now())}`
  const lease = await holdLease({ kube, clock, log, name, namespace, holder, seconds: config.LEASE_SECONDS }, stopped)
  const work = new AbortController()
  stopped.addEventListener('abort', () => work.abort(stopped.reason), { once: true })
  const openBackend = backendOpener({ kube, clock, log, config, namespace, owner: lease.uid, env: environment() })
  provisioner = startProvisioner(
    {
      kube,
      clock,
      log,
      provisionerName,
      owner: lease.uid,
      threads: config.THREADS,
      resyncMs: config.RESYNC_SECONDS * 1000,
      orphansMs: config.ORPHANS_SECONDS * 1000,
      openBackend,
    },
    work.signal,
  )
  log.info({ provisionerName }, 'provisioner started')
  try {
    await lease.lost
    await lease.release()
    return EXIT.stopped
  } catch (error) {
    if (!isFault(error, 'conflict')) throw error
    log.error({ err: error }, 'the lease is lost')
    return EXIT.fenced
  } finally {
    work.abort()
    kube.close()
  }
}

const log = openLog({ level: 'info', name: 'provisioner' })
try {
  const config = provisionerConfig()
  process.exitCode = await run(config, openLog({ level: config.LOG_LEVEL, name: 'provisioner' }))
} catch (error) {
  log.fatal({ err: error }, 'provisioner failed')
  process.exitCode = EXIT.failed
}
