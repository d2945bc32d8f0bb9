/**
 * Masks secrets in the human-readable texts of events that leave an attempt. Values for later steps pass unchanged; the sender lists those that hold
 * a secret in `sealed`, and the server seals them.
 */
import type { EngineEventBody } from '@windlass/protocol'

/** Returns the event with its human-readable texts masked. */
export function redactEvent<E extends EngineEventBody>(event: E, redact: (text: string) => string): E
export function redactEvent(event: EngineEventBody, redact: (text: string) => string): EngineEventBody {
  const mask = (text: string | undefined): string | undefined => (text === undefined ? undefined : redact(text))
  switch (event.type) {
    case 'step.finished':
      return {
        ...event,
        message: mask(event.message),
        hint: mask(event.hint),
        ...(event.image !== undefined && { image: { ...event.image, name: redact(event.image.name) } }),
      }
    case 'annotated': {
      const set = Object.entries(event.set).map(
        ([name, value]) => [name, typeof value === 'string' ? redact(value) : value] as const,
      )
      return { ...event, set: Object.fromEntries(set), ...(event.display !== undefined && { display: redact(event.display) }) }
    }
    case 'notice':
      return { ...event, message: redact(event.message) }
    case 'attempt.finished':
      return { ...event, outcome: { ...event.outcome, message: mask(event.outcome.message) } }
    case 'attempt.started':
    case 'image':
    case 'step.decided':
    case 'step.phase':
    case 'step.started':
    case 'step.usage':
    case 'step.waiting':
      return event
  }
}
