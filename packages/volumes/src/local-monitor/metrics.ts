/** The disks of a node for Prometheus (runner specification 5.6). */
import type { DiskFolder, FileSystemUse } from './folders.ts'

interface Gauge {
  readonly name: string
  readonly help: string
  readonly value: (folder: DiskFolder) => number | undefined
}

const GAUGES: readonly Gauge[] = [
  { name: 'creation_time', help: 'When the disk was made, epoch seconds.', value: ({ createdAt }) => createdAt },
  { name: 'last_used_time', help: 'When the disk was used last, epoch seconds.', value: ({ lastUsedAt }) => lastUsedAt },
  { name: 'mounts_count', help: 'How many builds used the disk.', value: ({ mounts }) => mounts },
  {
    name: 'deleted_since',
    help: 'Since when the disk is marked to be removed, epoch seconds.',
    value: ({ deletedAt }) => deletedAt,
  },
]

/** Prometheus text. A disk that does not say a time has no line for it. */
export function metricsText(
  node: string,
  { folders, use, removed }: { readonly folders: readonly DiskFolder[]; readonly use: FileSystemUse; readonly removed: number },
): string {
  const disks = GAUGES.map(({ name, help, value }) => {
    const lines = folders.flatMap((folder) => {
      const labels = `node_name=${quote(node)},volume_path=${quote(folder.path)},backend_type="local"`
      const number = value(folder)
      return number === undefined ? [] : [`dind_local_volume_${name}{${labels}} ${number}`]
    })
    return [`# HELP dind_local_volume_${name} ${help}`, `# TYPE dind_local_volume_${name} gauge`, ...lines]
  })
  const own = `node_name=${quote(node)}`
  return `${[
    ...disks.flat(),
    '# HELP windlass_local_monitor_use_percent Use of the file system of the disks, as df counts it.',
    '# TYPE windlass_local_monitor_use_percent gauge',
    `windlass_local_monitor_use_percent{${own},of="blocks"} ${use.kb}`,
    `windlass_local_monitor_use_percent{${own},of="inodes"} ${use.inodes}`,
    '# HELP windlass_local_monitor_removed_total Disks removed since the start.',
    '# TYPE windlass_local_monitor_removed_total counter',
    `windlass_local_monitor_removed_total{${own}} ${removed}`,
  ].join('\n')}\n`
}

function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
}
