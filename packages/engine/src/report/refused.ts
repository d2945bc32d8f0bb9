/**
 * Handles events that the server rejects for their content. Sending one event at a time finds the rejected ones of a batch. They are sent without
 * content, so that the build continues and later events are not blocked.
 */
import { isFault, isRefusal, sentences, type Fault } from '@windlass/kit'
import { AnyTakenEvent, withoutContent, type EngineEvent, type TakenEvent } from '@windlass/protocol'

export interface Refused {
  /** Returns the event, without its content if that was rejected. */
  reduced(event: EngineEvent): EngineEvent
  /** Returns whether the event must be sent in a separate batch. */
  isSentAlone(event: EngineEvent): boolean
  /** Records the rejection of a batch. Returns false if nothing more can be left out. */
  note(events: readonly EngineEvent[], refusal: Fault): boolean
}

export function openRefused(): Refused {
  let aloneUpTo = 0
  const bare = new Map<number, EngineEvent>()
  return {
    reduced: (event) => bare.get(event.seq) ?? event,
    isSentAlone: ({ seq }) => seq <= aloneUpTo,
    note(events, { message }) {
      const [event] = events
      if (event === undefined) return false
      aloneUpTo = Math.max(aloneUpTo, ...events.map(({ seq }) => seq))
      if (events.length > 1) return true
      if (bare.has(event.seq)) return false
      bare.set(event.seq, bareFact(event, `The server refused the content of ${event.type}. ${message}`))
      return true
    },
  }
}

/** Parses an event of the spool. One with too much content must not keep the others from being sent. */
export function readSpooled(value: unknown): EngineEvent {
  return withNote(AnyTakenEvent.parse(value))
}

function bareFact(event: EngineEvent, why: string): EngineEvent {
  const message =
    event.type === 'step.finished' ? event.message : event.type === 'attempt.finished' ? event.outcome.message : undefined
  return withNote(withoutContent({ ...event }, why.slice(0, MAX_MESSAGE)), message)
}

const MAX_MESSAGE = 1000

/** Adds the reason of the missing content: as the text of a notice, or in the message of the end of a step or attempt. */
function withNote({ refused, ...event }: TakenEvent, own?: string): EngineEvent {
  if (refused === undefined) return event
  const message = sentences((own ?? ('message' in event ? event.message : undefined))?.slice(0, MAX_MESSAGE), refused)
  if (event.type === 'step.finished') return { ...event, message }
  return event.type === 'attempt.finished' ? { ...event, outcome: { ...event.outcome, message } } : event
}

/** Returns true if content was rejected, by the server or by a proxy with a smaller limit. */
export function isContentRejected(error: unknown): error is Fault {
  return isFault(error, 'payload-too-large') || (isFault(error, 'request-invalid') && isRefusal(error))
}
