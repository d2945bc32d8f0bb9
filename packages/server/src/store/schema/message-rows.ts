import type { MessageKind, OutgoingMessage } from '@windlass/protocol'

/** Something that is to be sent to another service. `schema.ts` says what columns may contain. */
export interface MessageRow {
  id: string
  account_id: string
  /** Unique in the account: what the message is about. A new message about the same thing replaces one that is not sent yet. */
  key: string
  kind: MessageKind
  build_id: string | null
  /** For users: where it is sent, and about what. */
  subject: string
  /** JSON for the sender of its kind, without secrets. */
  body: string
  /** Increases with each replacement. */
  version: number
  state: OutgoingMessage['state']
  /** Why the last try failed. */
  problem: string | null
  /** How often a server began to send this version. */
  tries: number
  /** When it is sent; in the future while a server sends it; null if there is nothing to send. */
  next_at: number | null
  sent_at: number | null
  created_at: number
  updated_at: number
}
