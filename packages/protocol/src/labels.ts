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
