/** Names of labels and annotations of Kubernetes objects, and conversion of text to label values. */

export const LABEL = {
  build: 'windlass.io/build',
  attempt: 'windlass.io/attempt',
  runtime: 'windlass.io/runtime',
  /** Epoch seconds after which the object may always be deleted. */
  expires: 'windlass.io/expires',
  app: 'app',
  volumeApp: 'codefresh-app',
  account: 'io.codefresh.accountName',
  pipeline: 'pipeline_id',
  project: 'project_id',
  trigger: 'trigger',
  branch: 'io.codefresh.branch_name',
} as const

/** Annotations of the claim of a disk, which the volume provisioner (or the agent, if there is none) uses to choose a disk. */
export const CLAIM_NOTE = {
  /** Comma-separated label keys that must be equal. */
  selector: 'codefresh.io/reuse-volume-selector',
  /** Comma-separated label keys that are preferred to be equal. */
  sortOrder: 'codefresh.io/reuse-volume-sort-order',
  /** `true` requests an empty disk. */
  reset: 'windlass.io/reset-volume',
  /** Comma-separated builds whose disk is preferred. */
  builds: 'windlass.io/reuse-builds',
  /** `agent`: the creator of the claim binds it, and the provisioner ignores it. */
  boundBy: 'windlass.io/bound-by',
  /** RFC 3339, set before the claim is deleted. Until then the disk is reserved for `windlass.io/build`. */
  keepUntil: 'windlass.io/keep-until',
  /** How long an unused disk is kept, e.g. `7d`; copied to the volume. */
  retention: 'codefresh.io/volume-retention',
  /** Set by the provisioner after it copied `keepUntil` to the volume. The claim may be deleted then. */
  kept: 'windlass.io/kept',
  /** JSON with `nodeSelector`, `tolerations` and `affinity` of the pod. */
  placement: 'windlass.io/placement',
  /** Free space that a used disk must have, a Kubernetes quantity such as `20Gi`. */
  minimumSpace: 'windlass.io/minimum-space',
  /** RFC 3339. The time at which the claim was last changed to make the scheduler retry its pod. */
  touched: 'windlass.io/touched',
} as const

/**
 * Converts a text to a valid label value: at most 63 letters, digits, `.`, `_` and `-`, with a letter or digit at both ends. Each run of
 * other characters becomes one `-`. An empty text stays empty.
 */
export function labelValue(text: string): string {
  return text
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 63)
    .replace(/[^A-Za-z0-9]+$/, '')
}
