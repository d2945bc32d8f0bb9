/** The kind of links: its calls and columns. */
import { listAll, type ApiClient } from '@windlass/client'
import { fault } from '@windlass/kit/faults'
import type { Link } from '@windlass/protocol'
import { formatTime } from '../format/time.ts'
import { age, type Kind } from './kind.ts'

export const links: Kind<Link> = {
  name: 'links',
  singular: 'link',
  of: ({ links: { list, delete: remove } }) => ({ list, get: (id) => findLink(list, id), remove: (id) => remove(id) }),
  nameOf: ({ id }) => id,
  columns: {
    ID: ({ id }) => id,
    KIND: ({ kind }) => kind,
    PIPELINE: ({ pipeline }) => pipeline ?? '',
    BUILD: ({ buildNumber }) => (buildNumber === undefined ? '' : String(buildNumber)),
    'CREATED-BY': ({ createdBy }) => createdBy,
    EXPIRES: ({ expiresAt }) => (expiresAt === undefined ? 'never' : formatTime(expiresAt)),
    AGE: age,
  },
  wide: { 'BUILD-ID': ({ buildId }) => buildId ?? '' },
}

/** Returns a link from the list of links, because the server has no route for a single one. Throws `not-found`. */
async function findLink(list: ApiClient['links']['list'], id: string): Promise<Link> {
  const found = (await listAll((page) => list(page))).find((link) => link.id === id)
  if (found === undefined) throw fault('not-found', { message: `The link "${id}" does not exist or has ended.` })
  return found
}
