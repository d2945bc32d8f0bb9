/** `/metrics` of the provisioner: the volumes of the runner specification 5.9, and what the provisioner itself does. Pure. */
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
  /** Claims and volumes that wait, are worked on or failed. */
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
    help: 'When the disk was made, epoch seconds.',
    value: ({ metadata }) => seconds(Date.parse(metadata.annotations[NOTE.created] ?? metadata.creationTimestamp ?? '')),
  },
  { name: 'volume_mount_count', help: 'How many builds used the disk.', value: mountCountOf },
  {
    name: 'volume_last_mount_ts',
    help: 'When the disk was used last, epoch seconds.',
    value: (volume) => seconds(lastUsedAt(volume)),
  },
]

/** The text that Prometheus reads. */
export function metricsText(input: MetricsInput): string {
  const bound = input.volumes.filter(
    ({ spec: { claimRef } }) => claimRef && input.claims.has(`${claimRef.namespace}/${claimRef.name}`),
  )
  const lines = SERIES.flatMap((series) => [
    ...gauge(
      `dind_${series.name}`,
      series.help,
      input.volumes.map((volume) => [labelsOf(volume), series.value(volume)]),
    ),
    ...gauge(
      `dind_pvc_${series.name}`,
      series.help,
      bound.map((volume) => [labelsOf(volume), series.value(volume)]),
    ),
  ])
  const queues = Object.entries(input.queues)
  const own = [
    ...gauge('windlass_provisioner_leader', 'Whether this process does the work.', [[{}, input.isLeader ? 1 : 0]]),
    ...gauge(
      'windlass_provisioner_waiting',
      'Work in hand.',
      queues.map(([queue, { size }]) => [{ queue }, size]),
    ),
    ...gauge(
      'windlass_provisioner_failing',
      'What failed last time and will be tried again.',
      queues.map(([queue, { failing }]) => [{ queue }, failing]),
    ),
    ...gauge(
      'windlass_provisioner_disks_total',
      'Disks by what was done with them.',
      Object.entries(input.counts).map(([done, count]) => [{ done }, count]),
      'counter',
    ),
  ]
  return [...lines, ...own, ''].join('\n')
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number]

function gauge(name: string, help: string, samples: readonly Sample[], type = 'gauge'): string[] {
  const rows = samples.map(([labels, value]) => {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escapeLabel(text)}"`)
    return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`
  })
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...rows]
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

function escapeLabel(text: string): string {
  return text.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')
}
