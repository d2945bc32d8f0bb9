/** The kind `notification`: its calls and columns. */
import type { Notification } from '@windlass/protocol'
import { formatAge } from '../format/time.ts'
import { age, type Kind } from './kind.ts'

export const notifications: Kind<Notification> = {
  name: 'notifications',
  singular: 'notification',
  of: ({ notifications: { list, get, delete: remove } }) => ({
    list: ({ query: { limit, cursor } }) => list({ query: { limit, cursor } }),
    get,
    remove: (name) => remove(name),
  }),
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    CHANNEL: ({ channel }) => channel.type,
    ON: ({ on }) => on.join(','),
    BUILDS: buildsOf,
    PERSONAL: ({ personal }) => (personal ? 'yes' : ''),
    SENT: ({ sentAt }, { now }) => (sentAt === undefined ? 'never' : formatAge(sentAt, now)),
    PROBLEM: ({ problem }) => problem ?? '',
    AGE: age,
  },
  wide: {
    ID: ({ id }) => id,
    RECEIVER: ({ channel }) => channel.host ?? (channel.to ?? []).join(','),
    BRANCH: ({ branch }) => branch ?? '',
    DISABLED: ({ disabled }) => (disabled ? 'yes' : ''),
  },
}

function buildsOf({ mine, pipelines, projects }: Notification): string {
  const parts = [...(mine ? ['mine'] : []), ...pipelines, ...projects.map((name) => `${name}/*`)]
  return parts.length === 0 ? 'all' : parts.join(',')
}
