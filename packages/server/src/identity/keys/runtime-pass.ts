/**
 * The token that this server sends when it calls the app-proxy of a GitOps runtime for a user (docs/development/adr/0139-live-applications-in-the-page.md). The app-proxy asks with it
 * what the user may do there, and it is good for nothing else. It is derived from a master key, which all servers have, and never stored. Sessions and keys never leave the server.
 */
import { createHmac } from 'node:crypto'
import { fault, parseToken } from '@windlass/kit'
import type { App } from '../../app.ts'
import { isSame } from '../../forges/signature.ts'
import { CURRENT_KEY } from '../../secrets/vault.ts'
import { findMeta } from '../../store/account/meta.ts'
import { findApiKey } from '../../store/access/api-keys.ts'
import { hasScope, type KeyActor } from '../actor.ts'
import { findUserActor, keyActor } from './key-actor.ts'

/** App-proxies ask within seconds. Milliseconds. */
const VALID_MS = 30_000

export interface RuntimePass {
  readonly actor: KeyActor
  readonly runtimeId: string
  /** True if the call changes nothing. */
  readonly isReadOnly: boolean
}

/** Returns a new pass of a caller for one runtime. */
export async function issueRuntimePass(app: App, { actor, runtimeId, isReadOnly }: RuntimePass): Promise<string> {
  const keyId = (await findMeta(app.store.query, CURRENT_KEY)) ?? ''
  const until = (app.clock.now() + VALID_MS).toString(36)
  const text = ['pass', actor.isUser === true ? 'u' : 'k', isReadOnly ? 'r' : 'w', until, runtimeId, keyId].join('-')
  return `${actor.id}.${text}-${codeOf(app, keyId, `${actor.id}.${text}`)}`
}

const PASS = /^(pass-([uk])-([rw])-([0-9a-z]{1,12})-([0-9a-f]{24})-([0-9a-f]{1,64}))-([\w-]{43})$/

/**
 * Returns who a pass in the header `Authorization` stands for, with the rights that the user or key has now; undefined if the header has another credential. Throws
 * `unauthenticated` for one that is not valid any more.
 */
export async function findPassActor(app: App, header: string | undefined): Promise<KeyActor | undefined> {
  const token = parseToken(/^(?:Bearer +)?(\S+)$/i.exec(header ?? '')?.[1] ?? '')
  const [, text = '', kind, mode, until = '', runtimeId = '', keyId = '', code] = PASS.exec(token?.secret ?? '') ?? []
  if (token === undefined || code === undefined) return undefined
  const isGenuine = app.vault.ring.knows(keyId) && isSame(code, codeOf(app, keyId, `${token.id}.${text}`))
  const now = app.clock.now()
  if (!isGenuine || now >= Number.parseInt(until, 36)) throw fault('unauthenticated')
  const actor = await (kind === 'u' ? findUserActor(app.store.query, app.accountId, token.id) : findKey(app, token.id))
  if (actor === undefined || (actor.expiresAt !== undefined && now >= actor.expiresAt)) throw fault('unauthenticated')
  const scopes = mode === 'r' && hasScope(actor, 'gitops:read') ? (['gitops:read'] as const) : actor.scopes
  return { ...actor, scopes, onlyAt: runtimeId }
}

async function findKey({ store }: App, id: string): Promise<KeyActor | undefined> {
  const row = await findApiKey(store.query, id)
  return row && keyActor(store.query, row)
}

function codeOf({ vault }: App, keyId: string, text: string): string {
  return createHmac('sha256', vault.derive(keyId, 'runtime-pass')).update(text).digest('base64url')
}
