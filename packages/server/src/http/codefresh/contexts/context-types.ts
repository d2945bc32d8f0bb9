/** Types of contexts that public clients write and Windlass spells in another way. Reading returns the types of Windlass. */
import { fault } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { CONTEXT_TYPES } from '@windlass/protocol'

type Fields = Readonly<Record<string, unknown>>

interface Converted {
  readonly type: string
  readonly data: Fields
}

/** Converts type and data of a context. Types of Windlass are returned unchanged. Throws `request-invalid` for a type without counterpart. */
export function fromPublicType(type: string, data: Fields): Converted {
  const convert = CONVERSIONS[type]
  if (convert !== undefined) return convert(data)
  if ((CONTEXT_TYPES as readonly string[]).includes(type)) return { type, data }
  throw fault('request-invalid', {
    message: `Windlass has no contexts of type "${type}".`,
    hint: `Use one of these types: ${[...CONTEXT_TYPES, ...Object.keys(CONVERSIONS)].join(', ')}.`,
  })
}

/** Returns true if a context is of the type or of the family that a client asks for: `git.github` includes all `git` contexts. */
export function isOfType(own: string, wanted: string): boolean {
  return own === wanted || (Object.hasOwn(CONVERSIONS, wanted) && own === wanted.split('.')[0])
}

const CONVERSIONS: Readonly<Record<string, (data: Fields) => Converted>> = {
  'git.github': (data) => toGit(data, 'https://github.com'),
  'git.gitlab': (data) => toGit(data, 'https://gitlab.com'),
  'git.bitbucket': (data) => toGit(data, 'https://bitbucket.org'),
  'git.stash': (data) => toGit(data, undefined),
  'secret-store.kubernetes-runtime': ({ resourceType, resourceName, runtimes }) => ({
    type: 'secret-store',
    data: { ...texts({ resourceType, resourceName }), ...(isOne(runtimes) && { runtime: String(runtimes[0]) }) },
  }),
}

function isOne(list: unknown): list is unknown[] {
  return Array.isArray(list) && list.length === 1
}

/** The API of a forge is at another URL than its repositories; its origin is the same, except on the hosts of the three forges. */
function toGit({ auth }: Fields, defaultUrl: string | undefined): Converted {
  const { username, password, apiHost, apiURL } = isRecord(auth) ? auth : {}
  const api = typeof apiURL === 'string' ? apiURL : typeof apiHost === 'string' ? `https://${apiHost}` : undefined
  const url = api === undefined ? defaultUrl : URL.parse(api)?.origin
  return { type: 'git', data: texts({ url, username, password }) }
}

function texts(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value === 'string'))
}
