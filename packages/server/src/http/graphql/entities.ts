/** Parts of entities that several fields of the schema have. */
import { applicationMeta, objectMeta, timeText, toPlatformStatus, type Named, type NamedApplication } from '@windlass/graphql'
import type { Application } from '@windlass/protocol'
import type { App } from '../../app.ts'

/** What an absent argument means. Public clients send empty texts for what they do not know. */
export function given<T>(value: T | null | undefined): T | undefined {
  return value === null || value === undefined || value === '' ? undefined : value
}

export function metadataOf({ accountId: account }: App, named: Named): object {
  return objectMeta({ ...named, account, labels: named.labels ?? {} })
}

/** The same of an application of Argo CD. */
export function applicationMetadataOf({ accountId: account }: App, named: NamedApplication): object {
  return applicationMeta({ ...named, account, labels: named.labels ?? {} })
}

/** Returns a reported application as an entity of the schema. */
export function applicationOf(app: App, application: Application): object {
  const { name, namespace, runtime, labels, createdAt, sources, destination, revisions, operation, resourceCount } = application
  const [source, ...more] = sources
  const states = statesOf(application)
  return {
    metadata: applicationMetadataOf(app, { name, namespace, runtime, cluster: destination.server, labels, createdAt }),
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
