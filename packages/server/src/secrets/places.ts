/** The places of sealed texts. All places are created here, and `sealed-rows.ts` must define where each kind is stored. */
import { sha256 } from '@windlass/kit'

export const SEALED_KINDS = [
  'context',
  'pipeline',
  'webhook',
  'notification',
  'mail-server',
  'build',
  'event',
  'build-data',
  'reply',
  'authority',
  'signing-key',
] as const
export type SealedKind = (typeof SEALED_KINDS)[number]

/** What a sealed text is bound to: it cannot be opened with another path. */
export interface Place {
  readonly kind: SealedKind
  readonly path: string
}

interface Owned {
  readonly id: string
  readonly account_id: string
}

/** Returns the place of a secret field of a context. */
export function contextPlace({ account_id: account, id }: Owned, field: string): Place {
  return { kind: 'context', path: `${account}/${id}/${field}` }
}

/** Returns the place of an encrypted variable of a pipeline. */
export function variablePlace({ account_id: account, id }: Owned, key: string): Place {
  return { kind: 'pipeline', path: `${account}/${id}/variables/${key}` }
}

/** Returns the place of the secret of a webhook. */
export function webhookPlace({ account_id: account, id }: Owned): Place {
  return { kind: 'webhook', path: `${account}/${id}/webhook` }
}

/** Returns the place of the URL and the key of a notification. */
export function notificationPlace({ account_id: account, id }: Owned): Place {
  return { kind: 'notification', path: `${account}/${id}/notification` }
}

/** Returns the place of the password of the mail server. */
export function mailServerPlace({ account_id: account }: Pick<Owned, 'account_id'>): Place {
  return { kind: 'mail-server', path: `${account}/mail-server` }
}

/** Returns the place of the secret variables of a build. */
export function buildPlace({ account_id: account, id }: Owned): Place {
  return { kind: 'build', path: `${account}/${id}/secrets` }
}

/** Returns the place of secret values in the events of a build. */
export function eventPlace({ account_id: account, id }: Owned): Place {
  return { kind: 'event', path: `${account}/${id}/exports` }
}

/** Returns the place of data that a client stored with a build. */
export function buildDataPlace({ account_id: account, id }: Owned): Place {
  return { kind: 'build-data', path: `${account}/${id}/data` }
}

/** Returns the place of the stored reply to a call with an Idempotency-Key. */
export function replyPlace({ accountId, actorId, key }: { accountId: string; actorId: string; key: string }): Place {
  return { kind: 'reply', path: `${accountId}/reply/${actorId}/${sha256(key)}` }
}

/** Returns the place of the private key that signs ID tokens of steps. */
export function signingKeyPlace({ account_id: account, id }: Owned): Place {
  return { kind: 'signing-key', path: `${account}/${id}/signing-key` }
}

/** Returns the place of the CA that signs the certificates of daemons and engines. `metaKey` is its key in `meta`. */
export function authorityPlace(metaKey: string): Place {
  return { kind: 'authority', path: metaKey }
}
