/** The kind of disks: its calls and columns. */
import { listAll, type ApiClient } from '@windlass/client'
import { fault } from '@windlass/kit/faults'
import { formatBytes } from '@windlass/plan'
import { describeDiskUse, type Disk, type DiskRemoval } from '@windlass/protocol'
import { formatAge } from '../format/time.ts'
import type { Kind } from './kind.ts'

const OUTCOMES: Readonly<Record<DiskRemoval['outcome'], string>> = {
  removed: 'removed',
  requested: 'will be removed',
  waiting: 'waits for its agent to be removed',
}

export const disks: Kind<Disk> = {
  name: 'disks',
  singular: 'disk',
  of: ({ disks: { list, delete: remove } }) => ({
    list: ({ query: { limit, cursor, disks: filter } }) => list({ query: { limit, cursor, ...filter } }),
    get: (id) => findDisk(list, id),
    async remove(id) {
      const { outcome, message } = await remove(id, { timeoutMs: 30_000 })
      return { outcome: OUTCOMES[outcome], message }
    },
  }),
  nameOf: ({ name }) => name,
  columns: {
    NAME: ({ name }) => name,
    STATE: ({ state }) => state,
    RUNTIME: ({ runtime }) => runtime ?? '',
    NODE: ({ node, zone }) => node ?? zone ?? '',
    SIZE: ({ sizeBytes }) => formatBytes(sizeBytes),
    USE: (disk) => describeDiskUse(disk) ?? '',
    BUILD: ({ build }) => (build === undefined ? '' : `#${build.number} ${build.pipeline ?? ''}`.trim()),
    USED: ({ lastUsedAt }, { now }) => (lastUsedAt === undefined ? '' : formatAge(lastUsedAt, now)),
    WHY: ({ message, whyNew }) => message ?? whyNew ?? '',
  },
  wide: {
    ID: ({ id }) => id,
    CLASS: ({ storageClass }) => storageClass,
    USES: ({ uses }) => String(uses),
    'USABLE BY': ({ usableBy }) => usableBy ?? '',
    SINCE: ({ since }, { now }) => formatAge(since, now),
    AGENT: ({ agent }) => agent,
  },
}

/** Returns a disk from the list of disks, because the server has no route for a single one. Throws `not-found`. */
async function findDisk(list: ApiClient['disks']['list'], name: string): Promise<Disk> {
  const found = (await listAll((page) => list(page))).find((disk) => disk.id === name || disk.name === name)
  if (found === undefined) throw fault('not-found', { message: `The disk "${name}" does not exist.` })
  return found
}
