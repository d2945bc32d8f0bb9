/**
 * The signed webhook, in the form of Standard Webhooks (https://www.standardwebhooks.com): `webhook-id`, `webhook-timestamp` in seconds, and
 * `webhook-signature`, which is `v1,` and the base64 of HMAC-SHA256 over `<id>.<timestamp>.<body>`.
 */
import { createHmac } from 'node:crypto'
import type { NoticeDocument } from '@windlass/protocol'
import type { OutboundCall } from '../../outbound/call.ts'
import type { Notice } from '../notice.ts'

export interface Signing {
  /** Id of the message; the same for each try. */
  readonly id: string
  /** `whsec_` and base64. */
  readonly secret: string
  /** When it is sent. */
  readonly now: number
}

/** Returns the body and the headers of a call. */
export function toWebhookCall(notice: Notice, signing: Signing): Pick<OutboundCall, 'headers' | 'body'> {
  const body = JSON.stringify(toDocument(notice, signing.id))
  const timestamp = String(Math.floor(signing.now / 1000))
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'windlass',
      'webhook-id': signing.id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${sign(signing, timestamp, body)}`,
    },
  }
}

function sign({ id, secret }: Signing, timestamp: string, body: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  return createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
}

function toDocument({ type, at, notification, title, about, details, build, step }: Notice, id: string): NoticeDocument {
  return {
    id,
    type,
    timestamp: new Date(at).toISOString(),
    data: {
      notification,
      text: [title, about, ...details].join('\n'),
      ...(build !== undefined && { build }),
      ...(step !== undefined && { step }),
    },
  }
}
