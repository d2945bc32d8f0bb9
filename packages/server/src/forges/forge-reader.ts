/** What the server knows about a forge. */
import type { Headers, ReadEvent } from './event.ts'

/** Functions of a forge. They are pure, never throw, and get what a stranger sent unless `verify` returned true for it. */
export interface ForgeReader {
  /** Headers that `deliveryId` and `parse` read, in lower case. The inbox stores only these. */
  readonly headers: readonly string[]
  /** Returns true if the call is signed with the secret, or carries it. Compares in constant time. */
  verify(call: SignedCall): boolean
  /** Returns the id that the forge gave the delivery and keeps when it repeats it. Undefined if it gives none. */
  deliveryId(headers: Headers, body: unknown): string | undefined
  /** Returns the name of the event at the forge, for users. */
  eventName(headers: Headers, body: unknown): string | undefined
  /** Returns headers that name the event, for a body without its call. */
  headersFor(event: string): Headers
  /** Returns the events of a call: one, or one for each branch and tag that was pushed. */
  parse(headers: Headers, body: unknown): readonly ReadEvent[]
}

export interface SignedCall {
  readonly headers: Headers
  /** The bytes as they were sent. */
  readonly body: Uint8Array
  readonly secret: string
}
