/** Prometheus metrics of the disks of a node. */
import { exposition } from '@windlass/kit'
import type { DiskFolder, FileSystemUse } from './folders.ts'

interface Gauge {
  readonly name: string
  readonly help: string
  readonly value: (folder: DiskFolder) => number | undefined
}

const GAUGES: readonly Gauge[] = [
  { name: 'creation_time', help: 'Time of creation, epoch seconds.', value: ({ createdAt }) => createdAt },
  { name: 'last_used_time', help: 'Time of the last use, epoch seconds.', value: ({ lastUsedAt }) => lastUsedAt },
  { name: 'mounts_count', help: 'Number of builds that used the disk.', value: ({ mounts }) => mounts },
  {
    name: 'deleted_since',
    help: 'Time at which the disk was marked for removal, epoch seconds.',
    value: ({ deletedAt }) => deletedAt,
  },
]

/** Returns metrics in the text format of Prometheus. A disk without a time has no line for it. */
export function metricsText(
  node: string,
  { folders, use, removed }: { readonly folders: readonly DiskFolder[]; readonly use: FileSystemUse; readonly removed: number },
): string {
  const labels = { node_name: node }
  const disks = GAUGES.map(({ name, help, value }) => ({
    name: `dind_local_volume_${name}`,
    help,
    samples: folders.map((folder) => ({
      labels: { ...labels, volume_path: folder.path, backend_type: 'local' },
      value: value(folder),
    })),
  }))
  return exposition([
    ...disks,
    {
      name: 'windlass_local_monitor_use_percent',
      help: 'Use of the file system of the disks, as counted by df.',
      samples: [
        { labels: { ...labels, of: 'blocks' }, value: use.kb },
        { labels: { ...labels, of: 'inodes' }, value: use.inodes },
      ],
    },
    {
      name: 'windlass_local_monitor_removed_total',
      help: 'Disks removed since the start.',
      type: 'counter',
      samples: [{ labels, value: removed }],
    },
  ])
}
