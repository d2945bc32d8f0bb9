/** Why an action does nothing now. */
import type { Right } from '@windlass/protocol'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from './away-bar.tsx'

/** Returns why an action that needs a right is off: the server is away, or the session lacks the right. Undefined if it is on. */
export function useOff(right: Right): string | undefined {
  const state = useSession()
  const away = useAway()
  return away ?? whyNot(state.kind === 'in' ? state.session : undefined, right)
}
