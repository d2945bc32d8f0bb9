/**
 * The provisioner: watches claims, classes, volumes, nodes and pods, and processes claims and volumes by key, one at a time each. All its
 * state is on the objects, so it can be killed and restarted at any point. Cleaning the pool is in `../cleaner`.
 */
import { attempt, ticks, type Clock, type Logger } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import type { Backend } from '../backends/backend.ts'
import type { Parameters } from '../backends/parameters.ts'
import { NOTE } from '../pool/notes.ts'
import { openClaims } from './claims.ts'
import { openEventWriter } from './events.ts'
import { metricsText } from './metrics.ts'
import { removeOrphans } from './orphans.ts'
import type { Parts } from './parts.ts'
import { openQueue } from './queue.ts'
import { openView } from './view.ts'
import { openVolumes } from './volumes.ts'

export interface ProvisionerOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly provisionerName: string
  /** Tag of this installation on cloud disks. */
  readonly owner: string
  /** Maximum number of claims processed at once. */
  readonly threads: number
  readonly resyncMs: number
  readonly orphansMs: number
  readonly openBackend: (parameters: Parameters) => Backend
}

export interface Provisioner {
  /** True if all objects were seen and the API server was heard recently. */
  isReady(): boolean
  /** True if a watch has ended permanently, so that only a restart helps. */
  isBlind(): boolean
  metrics(): string
}

const VOLUME_THREADS = 2
/** Watches receive at least a bookmark per minute. */
const SILENCE_MS = 150_000

/** Starts the work, which ends with the signal. */
export function startProvisioner(options: ProvisionerOptions, signal: AbortSignal): Provisioner {
  const { kube, clock, log } = options
  const counts = { reused: 0, created: 0, removed: 0, failed: 0 }
  const common = { clock, log, signal }
  const view = openView({
    kube,
    ...common,
    onClaim: (key) => claimQueue.add(key),
    onVolume: (name) => volumeQueue.add(name),
    onNodeGone: (node) => {
      for (const [name, { metadata }] of view.volumes) if (metadata.annotations[NOTE.node] === node) volumeQueue.add(name)
    },
  })
  const parts: Parts = { ...options, view, counts, events: openEventWriter({ kube, clock, log }) }
  const claims = openClaims(parts, signal)
  const volumes = openVolumes(parts, signal)
  let isSynced = false
  const synced = view.synced.then(() => {
    isSynced = true
  })
  const claimQueue = openQueue({
    ...common,
    name: 'claims',
    threads: options.threads,
    // Before all objects were seen, a warm disk could be missed.
    work: async (key) => synced.then(() => claims.reconcile(key)),
    onFailure: claims.reportFailure,
  })
  const volumeQueue = openQueue({
    ...common,
    name: 'volumes',
    threads: VOLUME_THREADS,
    work: async (name) => synced.then(() => volumes.reconcile(name)),
    onFailure: volumes.reportFailure,
  })
  void (async () => {
    await synced
    for await (const _ of ticks(options.resyncMs, { clock, signal, jitter: 0.1 })) {
      for (const key of view.claims.keys()) claimQueue.add(key)
      for (const name of view.volumes.keys()) volumeQueue.add(name)
    }
  })()
  void (async () => {
    await synced
    for await (const _ of ticks(options.orphansMs, { clock, signal, jitter: 0.1 }))
      await attempt(log, 'remove orphans', () => removeOrphans(parts, signal))
  })()
  return {
    isBlind: () => view.heardAt() === -Infinity,
    isReady: () => isSynced && clock.monotonic() - view.heardAt() < SILENCE_MS,
    metrics: () =>
      metricsText({
        volumes: [...view.volumes.values()].filter(({ metadata }) => metadata.labels['codefresh-app'] === 'dind'),
        claims: view.claims,
        counts,
        isLeader: true,
        queues: { claims: claimQueue, volumes: volumeQueue },
      }),
  }
}
