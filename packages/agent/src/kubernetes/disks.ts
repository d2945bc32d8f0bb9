/** The disks of builds in a cluster, as far as the agent serves them, and requests to remove them. */
import { defined, fault, isFault, type Clock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { DiskFacts, Id, LABEL, labelValue } from '@windlass/protocol'
import { DISK_LABEL, diskFactsOf, NOTE, requestDiskRemoval, Volume } from '@windlass/volumes'
import type { DiskRef, ExecutorDisks, RemovedDisk } from '../executor.ts'
import { failureMessage } from '../failure-message.ts'

export interface ClusterDisks {
  readonly kube: Kube
  readonly clock: Clock
  readonly namespaces: readonly string[]
  /** Limits the disks to those that a build of this runtime used last. */
  readonly runtime: string | undefined
}

/** Opens the disks of a cluster; makes no call yet. */
export function clusterDisks(options: ClusterDisks): ExecutorDisks {
  return {
    async list(signal) {
      try {
        return { disks: await readDisks(options, signal), failed: [] }
      } catch (error) {
        // Also an answer that cannot be read, because other clusters of the agent can be.
        if (signal.aborted) throw error
        return { disks: [], failed: [{ runtime: options.runtime ?? '', message: failureMessage(error).slice(0, 1000) }] }
      }
    },
    remove: (disk, signal) => removeDisk(options, disk, signal),
  }
}

async function readDisks(options: ClusterDisks, signal: AbortSignal): Promise<DiskFacts[]> {
  const { kube, runtime } = options
  const [volumes, nodes] = await Promise.all([
    kube.list({ kind: 'PersistentVolume', labels: `${LABEL.volumeApp}=dind` }, signal),
    readNodes(kube, signal),
  ])
  return volumes.flatMap((object): DiskFacts[] => {
    const volume = Volume.safeParse(object)
    if (!volume.success || !isServed(options, volume.data)) return []
    const facts = diskFactsOf(volume.data, nodes)
    return reportable({ ...facts, ...defined({ runtime: runtime ?? facts.runtime }) })
  })
}

/** Leaves out what a report cannot hold: the server refuses a report as a whole. Returns nothing if too little is left. */
function reportable(facts: DiskFacts): DiskFacts[] {
  const parsed = DiskFacts.safeParse(facts)
  if (parsed.success) return [facts]
  const wrong = new Set(parsed.error.issues.map(({ path }) => path[0]))
  const rest = DiskFacts.safeParse(Object.fromEntries(Object.entries(facts).filter(([name]) => !wrong.has(name))))
  return rest.success ? [rest.data] : []
}

/** Returns the names of the nodes, or undefined if the agent may not list them, as with `runner.rbac.nodes: false`. */
async function readNodes(kube: Kube, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
  try {
    const nodes = await kube.list({ kind: 'Node', content: 'metadata' }, signal)
    return new Set(nodes.map(({ metadata }) => metadata.name))
  } catch (error) {
    if (isFault(error, 'cluster-refused')) return undefined
    throw error
  }
}

/** Whether a disk belongs to builds of this agent. A disk stays in the namespace of its first claim. */
function isServed({ namespaces, runtime }: ClusterDisks, { metadata: { labels }, spec }: Volume): boolean {
  const namespace = spec.claimRef?.namespace ?? labels[DISK_LABEL.podNamespace] ?? ''
  if (!namespaces.includes(namespace)) return false
  const last = labels[DISK_LABEL.runtime] ?? ''
  return runtime === undefined || last === runtime || last === labelValue(runtime)
}

async function removeDisk(options: ClusterDisks, { name, uid }: DiskRef, signal: AbortSignal): Promise<RemovedDisk> {
  const { kube, clock } = options
  const keeps = (volume: Volume): 'other' | 'foreign' | 'reserved' | undefined => {
    // Another disk of the same name; the requested one is gone.
    if (volume.metadata.uid !== undefined && volume.metadata.uid !== uid) return 'other'
    if (!isServed(options, volume) || volume.metadata.labels[LABEL.volumeApp] !== 'dind') return 'foreign'
    return Date.parse(volume.metadata.annotations[NOTE.keptUntil] ?? '') > clock.now() ? 'reserved' : undefined
  }
  const { outcome, why, volume } = await requestDiskRemoval({ kube, clock, name, keeps, signal })
  if (outcome === 'gone' || why === 'other') return { outcome: 'gone', message: 'The disk does not exist any more.' }
  if (why === 'foreign') throw fault('policy-refused', { message: `The volume ${name} is not a disk of builds of this agent.` })
  const build = Id.safeParse(volume?.metadata.annotations[NOTE.build])
  const buildId = build.success ? build.data : undefined
  if (why === 'reserved')
    return { outcome: 'in-use', message: 'The disk is reserved for a build that continues.', ...defined({ buildId }) }
  if (outcome === 'in-use') return { outcome, message: 'A build uses the disk.', ...defined({ buildId }) }
  if (outcome === 'changed') throw fault('conflict', { message: `The volume ${name} changed while its removal was requested.` })
  return { outcome: 'requested', message: removerOf(volume, name) }
}

/** Says who removes the disk. An agent has no right to delete volumes. */
function removerOf(volume: Volume | undefined, name: string): string {
  const provisioner = volume?.metadata.annotations[NOTE.provisionedBy]
  return provisioner === undefined
    ? `No provisioner made the disk. The node disk cleaner removes it, or \`kubectl delete pv ${name}\`.`
    : `The provisioner ${provisioner} removes it.`
}
