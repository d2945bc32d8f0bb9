/** What the reader may see and do. */
import type { Right } from '@windlass/protocol'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from './away-bar.tsx'

/**
 * Returns why the reader may not see something that needs a right; undefined if they may. The rights of a session that has ended count, so that what is
 * shown and typed stays until the next sign-in.
 */
export function useHidden(right: Right): string | undefined {
  const state = useSession()
  return whyNot(state.kind === 'in' || state.kind === 'ended' ? state.session : undefined, right)
}

/** Returns why an action that needs a right is off: the server is away, the session has ended, or it lacks the right. Undefined if it is on. */
export function useOff(right: Right): string | undefined {
  const { kind } = useSession()
  const away = useAway()
  const hidden = useHidden(right)
  return away ?? (kind === 'ended' ? 'Your session has ended.' : hidden)
}
