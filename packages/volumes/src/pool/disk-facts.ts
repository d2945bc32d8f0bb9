/** Reads what users see of a disk from its volume. Pure. */
import { defined, splitList } from '@windlass/kit'
import { Id, LABEL, type DiskFacts } from '@windlass/protocol'
import { DISK_LABEL, NOTE } from './notes.ts'
import { isDoomed, lastUsedAt, localPathOf, mountCountOf, storageBytes, type Volume } from './volume.ts'

/** Maximum number of labels of a selector that are read. */
const MAX_KEYS = 20

/** Returns the facts about a disk. `nodes` are the names of the nodes of the cluster; undefined if they are not known. */
export function diskFactsOf(volume: Volume, nodes: ReadonlySet<string> | undefined): DiskFacts {
  const { metadata, spec } = volume
  const { annotations, labels } = metadata
  const isLocal = localPathOf(volume) !== undefined
  const build = Id.safeParse(annotations[NOTE.build])
  return {
    uid: metadata.uid ?? metadata.name,
    name: metadata.name,
    // Shared file systems state sizes that no number here holds.
    sizeBytes: Math.min(Math.floor(storageBytes(spec.capacity.storage)), Number.MAX_SAFE_INTEGER),
    storageClass: spec.storageClassName,
    uses: mountCountOf(volume),
    ...stateOf(volume, nodes),
    ...defined({
      namespace: spec.claimRef?.namespace ?? labels[DISK_LABEL.podNamespace],
      node: annotations[NOTE.node],
      freeBytes: bytesIn(annotations[NOTE.free]),
      backend: labels[DISK_LABEL.backend] ?? (isLocal ? 'local' : undefined),
      accessMode: spec.accessModes[0],
      zone: annotations[NOTE.zone],
      runtime: labels[DISK_LABEL.runtime],
      buildId: build.success ? build.data : undefined,
      pipelineId: labels[LABEL.pipeline],
      selector: selectorOf(volume),
      createdAt: timeOf(annotations[NOTE.created] ?? metadata.creationTimestamp),
      lastUsedAt: lastUsedAt(volume) || undefined,
      keptUntil: timeOf(annotations[NOTE.keptUntil]),
      whyNew: annotations[NOTE.why]?.slice(0, 500),
    }),
  }
}

/** Returns the state with its time and cause. A claimed disk is in use even if its removal was requested. */
function stateOf(volume: Volume, nodes: ReadonlySet<string> | undefined): Pick<DiskFacts, 'state' | 'since' | 'message'> {
  const { metadata, status } = volume
  const { annotations, deletionTimestamp } = metadata
  if (status.phase === 'Bound' || annotations[NOTE.unconfirmed] !== undefined)
    return { state: 'in-use', ...defined({ since: timeOf(annotations[NOTE.lastUsed]) }) }
  const node = annotations[NOTE.node]
  if (localPathOf(volume) !== undefined && node !== undefined && nodes !== undefined && !nodes.has(node))
    return { state: 'lost', message: `The node ${node} is gone.` }
  if (!isDoomed(volume)) return { state: 'warm' }
  const by = annotations[NOTE.deletion]
  return {
    state: 'removing',
    ...defined({
      since: timeOf(annotations[NOTE.removing] ?? deletionTimestamp),
      message: by === undefined ? undefined : `The cleaner of the node ${by} requested the removal.`,
    }),
  }
}

/** Returns the labels that the last build compared. */
function selectorOf({ metadata: { annotations, labels } }: Volume): Record<string, string> | undefined {
  const keys = annotations[NOTE.selector]
  if (keys === undefined) return undefined
  return Object.fromEntries(
    splitList(keys)
      .slice(0, MAX_KEYS)
      .map((key) => [key, labels[key] ?? '']),
  )
}

function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? '')
  return Number.isNaN(time) || time < 0 ? undefined : time
}

function bytesIn(text: string | undefined): number | undefined {
  const bytes = Number(text)
  return text === undefined || !Number.isSafeInteger(bytes) || bytes < 0 ? undefined : bytes
}
