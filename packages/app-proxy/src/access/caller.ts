/** Who calls, and what the caller may do at this runtime. */
import type { IncomingHttpHeaders } from 'node:http'
import { fault } from '@windlass/kit'
import { RIGHTS, type GitopsRight } from '@windlass/protocol'

export interface Caller {
  readonly userId: string
  readonly userName: string
  /** Names of rights. */
  readonly rights: ReadonlySet<string>
  /** True for a key that may only read. */
  readonly isReadOnly: boolean
}

/** Returns the token of a call: the header `Authorization`, with or without `Bearer`, or `x-access-token`, which pages send. */
export function tokenOf({ authorization, 'x-access-token': own }: IncomingHttpHeaders): string | undefined {
  const given = authorization ?? (typeof own === 'string' ? own : undefined)
  return given === undefined ? undefined : (/^(?:Bearer +)?(\S+)$/i.exec(given)?.[1] ?? '')
}

/** Throws `forbidden` with the name of the right that is missing. */
export function requireRight({ rights }: Caller, right: GitopsRight): void {
  if (rights.has(right)) return
  const { role, text } = RIGHTS[right]
  throw fault('forbidden', {
    message: `The right ${right} is missing. Only the role ${role} and higher roles may ${text}.`,
    hint: 'Ask an admin for the role, or use an API key that is not limited.',
    right,
  })
}

/** Throws `scope-missing` for a key that may only read. */
export function requireWriting({ isReadOnly }: Caller): void {
  if (isReadOnly) throw fault('scope-missing', { message: 'The API key does not have the scope gitops:write.' })
}
