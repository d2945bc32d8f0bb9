/** Messages from daemons, registries and git have any length; the message of an event is limited. Characters. */
const MAX_MESSAGE_CHARS = 4_000

/** Shortens a message that is too long. Secrets must be masked first, because half a secret is not recognized. */
export function clip(text: string): string
export function clip(text: string | undefined): string | undefined
export function clip(text: string | undefined): string | undefined {
  return text === undefined || text.length <= MAX_MESSAGE_CHARS ? text : `${text.slice(0, MAX_MESSAGE_CHARS)}…`
}
