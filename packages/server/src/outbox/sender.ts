/** What a sender of messages is. */
import type { MessageKind } from '@windlass/protocol'
import type { App } from '../app.ts'
import type { MessageRow } from '../store/schema/schema.ts'

export interface Sent {
  /** Null if the receiver has the message. */
  readonly problem: string | null
  /** Whether a later try can succeed. Default: false. */
  readonly mayRetry?: boolean
  /** How long the receiver asks to wait. Milliseconds. */
  readonly afterMs?: number
}

/** Sends one message within 50 seconds. Throws only for bugs, and if the server closes. */
export type Send = (app: App, message: MessageRow) => Promise<Sent>
/** A server takes only the kinds that it has a sender for. During an upgrade a newer server can store others. */
export type Senders = Readonly<Partial<Record<MessageKind, Send>>>
