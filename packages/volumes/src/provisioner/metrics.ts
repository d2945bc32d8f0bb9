/** Metrics of the provisioner: the volume metrics of the Codefresh provisioner, and its own. Pure. */
import { exposition, type Sample } from '@windlass/kit'
import { DISK_LABEL, NOTE } from '../pool/notes.ts'
import type { Claim } from '../pool/request.ts'
import { lastUsedAt, mountCountOf, type Volume } from '../pool/volume.ts'
import type { Counts } from './parts.ts'

export interface MetricsInput {
  readonly volumes: readonly Volume[]
  /** By `namespace/name`. */
  readonly claims: ReadonlyMap<string, Claim>
  readonly counts: Readonly<Counts>
  readonly isLeader: boolean
  /** Numbers of claims and volumes that are queued or in progress, and that failed. */
  readonly queues: Readonly<Record<string, { readonly size: number; readonly failing: number }>>
}

const PHASES: Readonly<Record<string, number>> = { Pending: 0, Available: 0, Bound: 1, Released: 2, Failed: 3 }
const UNKNOWN_PHASE = -1

interface Series {
  readonly name: string
  readonly help: string
  readonly value: (volume: Volume) => number
}

const SERIES: readonly Series[] = [
  {
    name: 'volume_phase',
    help: 'Pending or Available 0, Bound 1, Released 2, Failed 3, unknown -1.',
    value: ({ status }) => PHASES[status.phase] ?? UNKNOWN_PHASE,
  },
  {
    name: 'volume_creation_ts',
    help: 'Time of creation, epoch seconds.',
    value: ({ metadata }) => seconds(Date.parse(metadata.annotations[NOTE.created] ?? metadata.creationTimestamp ?? '')),
  },
  { name: 'volume_mount_count', help: 'Number of builds that used the disk.', value: mountCountOf },
  {
    name: 'volume_last_mount_ts',
    help: 'Time of the last use, epoch seconds.',
    value: (volume) => seconds(lastUsedAt(volume)),
  },
]

/** Returns the metrics in the text format of Prometheus. */
export function metricsText(input: MetricsInput): string {
  const bound = input.volumes.filter(
    ({ spec: { claimRef } }) => claimRef && input.claims.has(`${claimRef.namespace}/${claimRef.name}`),
  )
  const disks = SERIES.flatMap(({ name, help, value }) => {
    const toSample = (volume: Volume): Sample => ({ labels: labelsOf(volume), value: value(volume) })
    return [
      { name: `dind_${name}`, help, samples: input.volumes.map(toSample) },
      { name: `dind_pvc_${name}`, help, samples: bound.map(toSample) },
    ]
  })
  const queues = Object.entries(input.queues)
  return exposition([
    ...disks,
    {
      name: 'windlass_provisioner_leader',
      help: '1 if this process holds the lease.',
      samples: [{ value: input.isLeader ? 1 : 0 }],
    },
    {
      name: 'windlass_provisioner_waiting',
      help: 'Items queued or in progress.',
      samples: queues.map(([queue, { size }]) => ({ labels: { queue }, value: size })),
    },
    {
      name: 'windlass_provisioner_failing',
      help: 'Items whose last attempt failed and that will be retried.',
      samples: queues.map(([queue, { failing }]) => ({ labels: { queue }, value: failing })),
    },
    {
      name: 'windlass_provisioner_disks_total',
      help: 'Operations on disks.',
      type: 'counter',
      samples: Object.entries(input.counts).map(([done, count]) => ({ labels: { done }, value: count })),
    },
  ])
}

function labelsOf({ metadata: { name, labels, annotations }, spec, status }: Volume): Record<string, string> {
  return {
    volume_name: name,
    pvc_namespace: spec.claimRef?.namespace ?? '',
    pvc_name: spec.claimRef?.name ?? '',
    runtime_env: labels[DISK_LABEL.runtime] ?? '',
    io_codefresh_accountName: labels['io.codefresh.accountName'] ?? '',
    pipeline_id: labels['pipeline_id'] ?? '',
    storage_class: spec.storageClassName,
    reclaim_policy: spec.persistentVolumeReclaimPolicy,
    backend_volume_type: labels[DISK_LABEL.backend] ?? '',
    backend_volume_id: annotations[NOTE.backendId] ?? '',
    backend_volume_id_md5: labels[DISK_LABEL.backendIdMd5] ?? '',
    phase: status.phase,
  }
}

function seconds(ms: number): number {
  return Number.isFinite(ms) ? Math.floor(ms / 1000) : 0
}
