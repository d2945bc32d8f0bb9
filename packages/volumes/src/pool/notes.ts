/** Annotations and labels of the PersistentVolume of a disk. */

/** Annotations. Times are RFC 3339. */
export const NOTE = {
  lastUsed: 'codefresh.io/lastUsedTimestamp',
  /** Number of builds that used the disk. */
  mountCount: 'codefresh.io/mount-count',
  /** The pods that used it last, oldest first, separated by commas. */
  usedBy: 'codefresh.io/usedBy',
  /** Node of a disk that is on a node. */
  node: 'codefresh.io/assignedNode',
  /** Name of the node whose monitor requested the removal. */
  deletion: 'node_requested_deletion',
  /** Time of creation. */
  created: 'codefresh.io/backendVolumeTimestamp',
  /** Id of the disk in the backend: a folder such as `vol-3f…`, or the id of a cloud disk. */
  backendId: 'backend-volume-id',
  /** How long the disk is kept unused, such as `7d`. */
  retention: 'codefresh.io/volume-retention',
  /** The build that used it last, and the time until which it is kept for that build. */
  build: 'windlass.io/last-build',
  keptUntil: 'windlass.io/kept-until',
  /** Free bytes when its last daemon ended. */
  free: 'windlass.io/available-bytes',
  /** Set by compare-and-swap before the disk is removed; no build takes it after that. */
  removing: 'windlass.io/removing-since',
  /** On a new disk until its claim was seen after the creation; no build takes it before that. */
  unconfirmed: 'windlass.io/unconfirmed',
  /** Why the disk was made instead of using another one. */
  why: 'windlass.io/created-because',
  /** Comma-separated label keys that were compared when a build took the disk. */
  selector: 'windlass.io/reuse-selector',
  /** Zone of a cloud disk. */
  zone: 'windlass.io/zone',
  /** Provisioner of the volume; Kubernetes leaves the removal to it. */
  provisionedBy: 'pv.kubernetes.io/provisioned-by',
} as const

/** Labels of a disk in addition to those of its last claim. */
export const DISK_LABEL = {
  backend: 'backend-volume-type',
  backendIdMd5: 'backend-volume-id-md5',
  pod: 'pod_name',
  podNamespace: 'pod_namespace',
  runtime: 'runtime_env',
} as const

/** Maximum number of pod names in `NOTE.usedBy`. */
const USED_BY_KEPT = 10

/** Appends a pod to the list and drops the oldest ones. */
export function addUser(usedBy: string | undefined, pod: string): string {
  const before = (usedBy ?? '').split(',').filter((name) => name !== '' && name !== pod)
  return [...before, pod].slice(-USED_BY_KEPT).join(',')
}
