/**
 * Signed rights to read the log of one build. Public clients open log links and the log socket without their API key, so both carry such a right. It ends
 * with its time and with the credential that asked for it.
 */
import { createHmac } from 'node:crypto'
import { fault } from '@windlass/kit'
import type { App } from '../../../app.ts'
import { isSame } from '../../../forges/signature.ts'
import { placesOf, type Actor } from '../../../identity/actor.ts'
import { findBuildToken } from '../../../identity/keys/build-token.ts'
import { findKeyActor } from '../../../identity/keys/key-actor.ts'
import { placeOfBuild } from '../../../identity/place-of.ts'
import { isWithin } from '../../../store/places.ts'
import { findMeta } from '../../../store/account/meta.ts'
import { CURRENT_KEY } from '../../../secrets/vault.ts'

/** Lifetime of a link to an archived log. A download that has begun may take longer. Milliseconds. */
export const LINK_MS = 900_000
/** Lifetime of a right for the log socket, which clients send again when they reconnect. Milliseconds. */
export const SOCKET_MS = 86_400_000

export interface LogRight {
  readonly buildId: string
  readonly expiresAt: number
  /** Who reads: the key or the steps that asked for the right. */
  readonly actor: Actor
}

/** Creates a right of `lifeMs` for the caller. Throws `forbidden` for a caller that is neither a key nor the steps of a build, and in sessions. */
export async function signLogRight(
  app: App,
  { actor, buildId, lifeMs }: { readonly actor: Actor; readonly buildId: string; readonly lifeMs: number },
): Promise<string> {
  if (actor.kind !== 'build' && (actor.kind !== 'key' || actor.session !== undefined)) throw fault('forbidden')
  const keyId = (await findMeta(app.store.query, CURRENT_KEY)) ?? ''
  const claims = `${buildId}~${(app.clock.now() + lifeMs).toString(36)}~${actor.kind}~${actor.id}`
  return `${claims}~${keyId}~${mac(app, keyId, claims)}`
}

/** Returns the right to read the log of this build. Throws `not-found` if it is not valid, has expired, or its credential was revoked. */
export async function requireLogRight(app: App, buildId: string, text: string): Promise<LogRight> {
  const right = await readLogRight(app, text)
  if (right?.buildId === buildId) return right
  throw fault('not-found', { message: 'The link to the log is not valid or has expired.', hint: 'Ask for the log again.' })
}

/** Returns the right that a text proves. Undefined if it is not valid, has expired, or its credential was revoked. */
export async function readLogRight(app: App, text: string): Promise<LogRight | undefined> {
  const [buildId = '', time = '', kind = '', id = '', keyId = '', given = '', ...rest] = text.split('~')
  if (rest.length > 0 || !app.vault.ring.knows(keyId)) return undefined
  const expiresAt = Number.parseInt(time, 36)
  const isGenuine = isSame(given, mac(app, keyId, `${buildId}~${time}~${kind}~${id}`))
  if (!isGenuine || app.clock.now() >= expiresAt) return undefined
  const actor =
    kind === 'build' ? (await findBuildToken(app.store.query, app.vault, id))?.actor : await findActor(app, id, buildId)
  return actor && { buildId, expiresAt, actor }
}

/** Returns the key with this id if it may still read the log of the build. */
async function findActor(app: App, id: string, buildId: string): Promise<Actor | undefined> {
  const key = await findKeyActor(app.store.query, id)
  const isOver = key === undefined || app.clock.now() >= (key.expiresAt ?? Infinity)
  if (isOver || key.accountId !== app.accountId) return undefined
  const places = placesOf(key, 'see-logs')
  if (places === undefined) return key
  const place = await placeOfBuild(app, buildId)
  return place !== undefined && isWithin(places, place) ? key : undefined
}

function mac({ vault }: App, keyId: string, claims: string): string {
  return createHmac('sha256', vault.derive(keyId, 'log-right')).update(claims).digest('base64url')
}
