/**
 * The provisioner: watches claims, classes, volumes, nodes and pods, and works on one claim or volume at a time per key. Everything it
 * must remember is on the objects; it can be killed at any line and started again. Not here: cleaning the pool (`../cleaner`).
 */
import { attempt, ticks, type Clock, type Logger } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import type { Backend } from '../backends/backend.ts'
import type { Parameters } from '../backends/parameters.ts'
import { NOTE } from '../pool/notes.ts'
import { openClaims } from './claims.ts'
import { openTeller } from './events.ts'
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
  /** Mark on disks of a cloud. */
  readonly owner: string
  /** Claims at a time. */
  readonly threads: number
  readonly resyncMs: number
  readonly orphansMs: number
  readonly openBackend: (parameters: Parameters) => Backend
}

export interface Provisioner {
  /** True when the cluster was seen whole and is heard. */
  isReady(): boolean
  /** True when a watch has ended for good: only a new process sees again. */
  isBlind(): boolean
  metrics(): string
}

const VOLUME_THREADS = 2
/** Watches hear at least a bookmark a minute. */
const SILENCE_MS = 150_000

/** Starts the work; it ends with the signal. */
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
  const parts: Parts = { ...options, view, counts, teller: openTeller({ kube, clock, log }) }
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
    // Before everything was seen, a warm disk might look as if it were not there.
    work: async (key) => synced.then(() => claims.reconcile(key)),
    onFailure: claims.tellFailure,
  })
  const volumeQueue = openQueue({
    ...common,
    name: 'volumes',
    threads: VOLUME_THREADS,
    work: async (name) => synced.then(() => volumes.reconcile(name)),
    onFailure: volumes.tellFailure,
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
