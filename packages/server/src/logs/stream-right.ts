/** Who may read which stream of a log. The recording of a terminal is as closed as the terminal was. */
import { fault } from '@windlass/kit'
import { isTerminalStream, type Right } from '@windlass/protocol'
import { mayDo, requireRight, type Actor } from '../identity/actor.ts'
import { COMMAND_SCOPE, requireScope } from '../identity/scopes.ts'
import type { Place } from '../store/places.ts'

/** Returns the right that a stream needs. */
export function rightToRead(stream: string | undefined): Right {
  return stream !== undefined && isTerminalStream(stream) ? 'debug-builds' : 'see-logs'
}

/**
 * Throws unless the caller may read a stream of a build at this place, or all streams without terminals: `forbidden`, also for steps and terminals,
 * `not-found`, and `scope-missing` for a limited key that may open no terminal.
 */
export function requireStream(actor: Actor, place: Place, stream?: string): void {
  const right = rightToRead(stream)
  requireRight(actor, right, place)
  if (right !== 'debug-builds') return
  if (actor.kind !== 'key') throw fault('forbidden', { message: 'The key of a step cannot read the recordings of terminals.' })
  requireScope(actor, COMMAND_SCOPE)
}

/** Returns true if the caller may read the recordings of terminals of builds at this place. */
export function mayReadTerminals(actor: Actor, place: Place): boolean {
  return mayDo(actor, { right: 'debug-builds', scope: COMMAND_SCOPE }, place)
}
