/** What says which object something is: `ObjectMeta` of the schemas. Pure. */

export interface Named {
  readonly kind: string
  readonly name: string
  readonly runtime: string
  readonly group?: string
  readonly version?: string
  readonly namespace?: string | undefined
  readonly cluster?: string | undefined
  /** Id of the account. */
  readonly account?: string
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Epoch milliseconds. */
  readonly createdAt?: number | undefined
  readonly uid?: string
}

export function objectMeta({ labels, createdAt, ...named }: Named): object {
  return {
    ...named,
    created: timeText(createdAt),
    labels: labels && Object.entries(labels).map(([key, value]) => ({ key, value })),
  }
}

export type NamedApplication = Omit<Named, 'group' | 'version' | 'kind'>

/** The same of an application of Argo CD. */
export function applicationMeta(named: NamedApplication): object {
  return objectMeta({ group: 'argoproj.io', version: 'v1alpha1', kind: 'Application', ...named })
}

/** RFC 3339. */
export function timeText(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString()
}
