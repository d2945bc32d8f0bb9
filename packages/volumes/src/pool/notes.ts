/** What stands on the PersistentVolume of a disk (runner specification 3.2 and 5.3): names, and how they are read. */

/** Annotations. Times are RFC 3339. */
export const NOTE = {
  lastUsed: 'codefresh.io/lastUsedTimestamp',
  /** How many builds used the disk. */
  mountCount: 'codefresh.io/mount-count',
  /** The pods that used it last, oldest first, separated by commas. */
  usedBy: 'codefresh.io/usedBy',
  /** Node of a disk that lives on one. */
  node: 'codefresh.io/assignedNode',
  /** Name of the node whose monitor wants the disk removed. */
  deletion: 'node_requested_deletion',
  /** When the disk was made. */
  created: 'codefresh.io/backendVolumeTimestamp',
  /** How the backend calls the disk: a folder such as `vol-3f…`, or the id of a cloud disk. */
  backendId: 'backend-volume-id',
  /** How long the disk is kept unused, such as `7d`. */
  retention: 'codefresh.io/volume-retention',
  /** The build that used it last, and until when it is kept for that build alone. */
  build: 'windlass.io/last-build',
  keptUntil: 'windlass.io/kept-until',
  /** Bytes that were free on it when its last daemon ended. */
  free: 'windlass.io/available-bytes',
  /** Set, by compare and swap, before anything of the disk is removed: it takes no build from then on. */
  removing: 'windlass.io/removing-since',
  /** Zone of a disk of a cloud. */
  zone: 'windlass.io/zone',
  /** Who made the volume; Kubernetes leaves the removal to it. */
  provisionedBy: 'pv.kubernetes.io/provisioned-by',
} as const

/** Labels of a disk besides those of its last claim. */
export const DISK_LABEL = {
  backend: 'backend-volume-type',
  backendIdMd5: 'backend-volume-id-md5',
  pod: 'pod_name',
  podNamespace: 'pod_namespace',
  runtime: 'runtime_env',
} as const

/** How many names of pods `NOTE.usedBy` holds. */
const USED_BY_KEPT = 10

/** The list with one more pod at its end; the oldest go. */
export function addUser(usedBy: string | undefined, pod: string): string {
  const before = (usedBy ?? '').split(',').filter((name) => name !== '' && name !== pod)
  return [...before, pod].slice(-USED_BY_KEPT).join(',')
}
