/** What the reader may see and do of access. */
import type { Right } from '@windlass/protocol'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'

/** Returns why the reader cannot do something now; undefined if they can. */
export function useOff(right: Right): string | undefined {
  const away = useAway()
  const hidden = useHidden(right)
  return away ?? hidden
}

/** Returns why the reader may not see something; undefined if they may. */
export function useHidden(right: Right): string | undefined {
  const state = useSession()
  return whyNot(state.kind === 'in' ? state.session : undefined, right)
}
