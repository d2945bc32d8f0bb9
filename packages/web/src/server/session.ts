/** Who is signed in, and what they may do. */
import { useQuery } from '@tanstack/react-query'
import { isFault } from '@windlass/kit/faults'
import { RIGHTS, type Right, type Session } from '@windlass/protocol'
import { client } from './client.ts'
import { idOf, keepOwn } from './own-storage.ts'
import { queries } from './queries.ts'
import { queryClient } from './query-client.ts'
import { startStreamAnew } from './stream.ts'

export type SessionState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly error: unknown; readonly retry: () => void }
  | { readonly kind: 'in'; readonly session: Session }
  /** The session of the page has ended. `session` is what it was. */
  | { readonly kind: 'ended'; readonly session: Session }

/** Returns the session of this browser. */
export function useSession(): SessionState {
  const { data, error, isPending, refetch } = useQuery(queries.session())
  if (isFault(error) && error.code === 'unauthenticated')
    return data === undefined ? { kind: 'none' } : { kind: 'ended', session: data }
  if (data !== undefined) return { kind: 'in', session: data }
  if (isPending) return { kind: 'loading' }
  return { kind: 'failed', error, retry: () => void refetch() }
}

/** Returns the name that the page shows for a session: of the user, or of the key. */
export function nameOf({ user, key }: Session): string {
  return user?.name ?? key?.name ?? 'unknown'
}

const ORDER = ['viewer', 'developer', 'maintainer', 'admin'] as const

/**
 * Returns why the session may not do something, or undefined if it may. The server decides again. A right that counts in a project is never missing
 * here for a user without a role for the installation, whose roles in projects the page does not know.
 */
export function whyNot(session: Session | undefined, right: Right): string | undefined {
  if (session === undefined) return 'You are not signed in.'
  const { role: needed, at, text } = RIGHTS[right]
  if (session.role === 'none') return at !== 'installation' ? undefined : `The role ${needed} is needed to ${text}.`
  return ORDER.indexOf(session.role) >= ORDER.indexOf(needed)
    ? undefined
    : `The role ${needed} is needed to ${text}; yours is ${session.role}.`
}

/** Puts a session that has just started into the place of the one before. What another user has seen is forgotten. */
export function enter(session: Session): void {
  const before = queryClient.getQueryData<Session>(queries.session().queryKey)
  if (before !== undefined && idOf(before) !== idOf(session)) queryClient.clear()
  keepOwn(session)
  queryClient.setQueryData(queries.session().queryKey, session)
  void queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
  startStreamAnew()
}

/** Ends the session on the server and forgets what the page knows. */
export async function signOut(): Promise<void> {
  await client.sessions.signOut()
  queryClient.clear()
  // Unsaved documents of this tab.
  sessionStorage.clear()
  location.assign('/signin')
}
