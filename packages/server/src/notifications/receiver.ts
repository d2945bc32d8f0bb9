/** Where a notification is sent: what users see of it, and the URL and key, which are sealed. */
import { randomBytes } from 'node:crypto'
import type { ChannelInput } from '@windlass/protocol'
import { z } from 'zod'
import { notificationPlace } from '../secrets/places.ts'
import type { Sealer, Vault } from '../secrets/vault.ts'
import type { NotificationRow } from '../store/schema/schema.ts'

/** What may be shown: the host of a URL, or the recipients of mails. */
const Receiver = z.object({ host: z.string().optional(), to: z.array(z.string()).optional() })
export type Receiver = z.infer<typeof Receiver>

/** The key of a webhook is `whsec_` and base64. */
const ChannelSecret = z.object({ url: z.string(), secret: z.string().optional() })
export type ChannelSecret = z.infer<typeof ChannelSecret>

/** Bytes of a key that the server chooses. */
const KEY_BYTES = 32

export function readReceiver({ receiver }: Pick<NotificationRow, 'receiver'>): Receiver {
  return Receiver.parse(JSON.parse(receiver))
}

/** Splits a channel into what may be shown and what must be sealed. Chooses the key of a webhook unless it is given. */
export function splitChannel(channel: ChannelInput): { readonly receiver: Receiver; readonly secret: ChannelSecret | undefined } {
  if (channel.type === 'mail') return { receiver: { to: [...new Set(channel.to)] }, secret: undefined }
  const receiver = { host: new URL(channel.url).hostname }
  if (channel.type !== 'webhook') return { receiver, secret: { url: channel.url } }
  const secret = channel.secret ?? `whsec_${randomBytes(KEY_BYTES).toString('base64')}`
  return { receiver, secret: { url: channel.url, secret } }
}

export function sealSecret(sealer: Sealer, row: Pick<NotificationRow, 'id' | 'account_id'>, secret: ChannelSecret): string {
  return sealer.seal(notificationPlace(row), JSON.stringify(secret))
}

/** Returns the URL and the key of a notification; undefined for mail. Throws like `Vault.open`. */
export function openSecret(vault: Vault, row: NotificationRow): ChannelSecret | undefined {
  return row.secret === null ? undefined : ChannelSecret.parse(JSON.parse(vault.open(notificationPlace(row), row.secret)))
}
