/** The tables of notifications. `schema.ts` says what columns may contain. */
import type { ChannelType, MailSecurity } from '@windlass/protocol'
import type { Flag } from './flag.ts'

export interface NotificationSchema {
  notification: NotificationRow
  mail_server: MailServerRow
}

/** Who is told about builds, of what and where. */
export interface NotificationRow {
  id: string
  account_id: string
  /** The user to whom it belongs; empty if it belongs to pipelines and projects. */
  owner_id: string
  /** Unique for the owner. */
  name: string
  channel: ChannelType
  /** JSON: Receiver. */
  receiver: string
  /** JSON: StoredRule. */
  rule: string
  /** Sealed JSON: ChannelSecret; null for mail. */
  secret: string | null
  disabled: Flag
  sent_at: number | null
  /** Why the last message was not sent. */
  problem: string | null
  tested_at: number | null
  created_at: number
  updated_at: number
}

/** The server that sends mail, one of each account. */
export interface MailServerRow {
  account_id: string
  host: string
  port: number
  security: MailSecurity
  username: string | null
  /** Sealed. */
  password: string | null
  sender: string
  /** JSON: list of strings. */
  domains: string
  ca: string | null
  updated_at: number
}
