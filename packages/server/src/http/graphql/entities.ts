/** Parts of entities that several fields of the schema have. */
import { toPlatformStatus } from '@windlass/graphql'
import type { Application } from '@windlass/protocol'
import type { App } from '../../app.ts'

/** RFC 3339. */
export function timeText(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString()
}

/** What an absent argument means. Public clients send empty texts for what they do not know. */
export function given<T>(value: T | null | undefined): T | undefined {
  return value === null || value === undefined || value === '' ? undefined : value
}

interface Named {
  readonly kind: string
  readonly name: string
  readonly runtime: string
  readonly group?: string
  readonly version?: string
  readonly namespace?: string | undefined
  readonly cluster?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly createdAt?: number
  readonly uid?: string
}

export function metadataOf({ accountId }: App, { labels, createdAt, ...named }: Named): object {
  return {
    ...named,
    account: accountId,
    created: timeText(createdAt),
    labels: Object.entries(labels ?? {}).map(([key, value]) => ({ key, value })),
  }
}

/** Returns a reported application as an entity of the schema. */
export function applicationOf(app: App, application: Application): object {
  const { name, namespace, runtime, sources, destination, revisions, operation, resourceCount } = application
  const [source, ...more] = sources
  const states = statesOf(application)
  return {
    metadata: metadataOf(app, {
      group: 'argoproj.io',
      version: 'v1alpha1',
      kind: 'Application',
      name,
      namespace,
      runtime,
      cluster: destination.server,
      labels: application.labels,
      createdAt: application.createdAt,
    }),
    ...states,
    errors: errorsOf(application),
    path: source?.path,
    repoURL: source?.repo,
    revision: source?.revision,
    size: resourceCount,
    updatedAt: timeText(application.reportedAt),
    destination,
    isMultiSourced: more.length > 0,
    status: {
      ...states,
      revision: revisions.join('_'),
      syncStartedAt: timeText(operation?.startedAt),
      syncFinishedAt: timeText(operation?.finishedAt),
    },
  }
}

/** The states of an application in the words of the schema. */
export function statesOf({ sync, health, healthMessage }: Pick<Application, 'sync' | 'health' | 'healthMessage'>): object {
  return {
    syncStatus: toPlatformStatus('sync', sync),
    healthStatus: toPlatformStatus('health', health),
    healthMessage,
  }
}

/** Conditions of Argo CD whose type ends with `Error`; others are warnings. */
export function errorsOf({ conditions, why }: Pick<Application, 'conditions' | 'why'>): object[] {
  return conditions.map(({ type, message, at }) => ({
    __typename: 'SyncError',
    level: type.endsWith('Error') ? 'ERROR' : 'WARNING',
    title: type,
    message,
    suggestion: why,
    lastSeen: timeText(at),
  }))
}
