/** Labels that other parts select by (runner specification 3.2), and how a text becomes a label's value. */

export const LABEL = {
  build: 'windlass.io/build',
  attempt: 'windlass.io/attempt',
  runtime: 'windlass.io/runtime',
  /** Epoch seconds after which the object is a leftover whatever happened. */
  expires: 'windlass.io/expires',
  app: 'app',
  volumeApp: 'codefresh-app',
  account: 'io.codefresh.accountName',
  pipeline: 'pipeline_id',
  project: 'project_id',
  trigger: 'trigger',
  branch: 'io.codefresh.branch_name',
} as const

/** Annotations of the claim of a disk: what the volume provisioner, or the agent where there is none, must know to choose one. */
export const CLAIM_NOTE = {
  /** Comma lists of label keys: those that must be equal, those that are merely better. */
  selector: 'codefresh.io/reuse-volume-selector',
  sortOrder: 'codefresh.io/reuse-volume-sort-order',
  /** `true`: an empty disk is wanted. */
  reset: 'windlass.io/reset-volume',
  /** Comma list of builds whose disk is the best one. */
  builds: 'windlass.io/reuse-builds',
  /** `agent`: whoever made the claim binds it itself; the provisioner leaves it alone. */
  boundBy: 'windlass.io/bound-by',
  /** RFC 3339: set before the claim goes; its disk is kept for `windlass.io/build` alone until then. */
  keepUntil: 'windlass.io/keep-until',
  /** How long an unused disk is kept, e.g. `7d`; copied to the volume. */
  retention: 'codefresh.io/volume-retention',
  /** Set by the provisioner: `keepUntil` stands on the volume now, the claim may go. */
  kept: 'windlass.io/kept',
  /** JSON of what the pod asks of its node: `nodeSelector`, `tolerations`, `affinity` as in a pod specification. */
  placement: 'windlass.io/placement',
  /** Quantity that must be free on a used disk, e.g. `20Gi`. */
  minimumSpace: 'windlass.io/minimum-space',
} as const

/**
 * The nearest valid label value: at most 63 characters of letters, digits, `.`, `_` and `-`, with a letter or digit at both ends. Every
 * other character becomes `-`; an empty text stays empty.
 */
export function labelValue(text: string): string {
  return text
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 63)
    .replace(/[^A-Za-z0-9]+$/, '')
}
