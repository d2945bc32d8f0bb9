/** The kind of applications of Argo CD: its calls and columns. */
import type { Application } from '@windlass/protocol'
import { paintStatus } from '../format/style.ts'
import { formatAge, formatTime } from '../format/time.ts'
import { age, type Kind } from './kind.ts'

/** Commits are cut, as Git shows them. */
const SHOWN_REVISION = 12

export const applications: Kind<Application> = {
  name: 'applications',
  singular: 'application',
  of: ({ applications: { list, get } }) => ({
    list: ({ query: { limit, cursor, applications: filter } }) => list({ query: { limit, cursor, ...filter } }),
    get,
  }),
  nameOf: ({ runtime, namespace, name }) => `${runtime}/${namespace}/${name}`,
  columns: {
    RUNTIME: ({ runtime }) => runtime,
    NAMESPACE: ({ namespace }) => namespace,
    NAME: ({ name }) => name,
    PROJECT: ({ project }) => project,
    HEALTH: ({ health }, { style }) => paintStatus(style, health),
    SYNC: ({ sync }, { style }) => paintStatus(style, sync),
    REVISION: ({ revisions }) => revisions.map((revision) => revision.slice(0, SHOWN_REVISION)).join(','),
    SINCE: ({ since }, { now }) => formatAge(since, now),
    AGE: age,
    WHY: ({ why }) => why ?? '',
  },
  wide: {
    ID: ({ id }) => id,
    SOURCE: ({ sources }) => sources.map(({ repo }) => repo).join(','),
    DESTINATION: destinationOf,
    RESOURCES: ({ resourceCount }) => String(resourceCount),
    IMAGES: ({ images }) => images.join(','),
    REPORTED: ({ reportedAt }) => formatTime(reportedAt),
  },
}

/** Returns the cluster and the namespace into which an application deploys. */
export function destinationOf({ destination }: Pick<Application, 'destination'>): string {
  const { name, server, namespace } = destination
  return [name ?? server, namespace].filter((part) => part !== undefined).join('/')
}
