/** The kind of tunnels of GitOps runtimes: its calls and columns. */
import type { Tunnel } from '@windlass/protocol'
import { paintStatus } from '../format/style.ts'
import { formatAge, formatTime } from '../format/time.ts'
import { age, type Kind } from './kind.ts'

export const tunnels: Kind<Tunnel> = {
  name: 'tunnels',
  singular: 'tunnel',
  of: ({ tunnels: { list, get } }) => ({ list: () => list(), get }),
  nameOf: ({ runtime }) => runtime,
  columns: {
    RUNTIME: ({ runtime }) => runtime,
    STATUS: ({ status }, { style }) => paintStatus(style, status),
    SEEN: ({ seenAt }, { now }) => (seenAt === undefined ? '' : formatAge(seenAt, now)),
    VERSION: ({ clientVersion }) => clientVersion ?? '',
    URL: ({ url }) => url ?? '',
    AGE: age,
  },
  wide: {
    ID: ({ id }) => id,
    ADDRESS: ({ address }) => address ?? '',
    SERVER: ({ server }) => server ?? '',
    TOKEN: ({ token }) => token ?? '',
    CONNECTED: ({ connectedAt }) => formatTime(connectedAt),
    'CREATED BY': ({ createdBy }) => createdBy,
  },
}
