/** API keys of public clients, which use other names for scopes. */
import { defined, fault, parseToken, tokenMatches } from '@windlass/kit'
import { readScopeNames, type Scope } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import type { Authenticator } from '../../../identity/authenticate.ts'
import { changeKey } from '../../../identity/keys/change-key.ts'
import { readScopes as scopesOf } from '../../../identity/keys/key-scopes.ts'
import { createKey, deleteKey, listKeys, requireOwner } from '../../../identity/keys/keys.ts'
import { requireGrantable } from '../../../identity/scopes.ts'
import { findAgentById } from '../../../store/runtimes/agents.ts'
import { findApiKey } from '../../../store/access/api-keys.ts'
import { done, ok, route, type Answer, type Route } from '../../route.ts'

const ById = z.object({ id: z.string().min(1).max(300) })
const Name = z.string().min(1).max(150)
const ScopeNames = z.array(z.string().max(100)).max(100)

const PublicKey = z.object({
  _id: z.string(),
  name: z.string(),
  tokenPrefix: z.string(),
  created: z.string(),
  /** Null for all scopes. */
  scopes: z.array(z.string()).nullable(),
  subject: z.object({ type: z.string(), ref: z.string() }),
})

export function keyRoutes(app: App, authenticator: Authenticator): Route[] {
  return [
    route('GET', '/api/auth/keys', {
      summary: 'List API keys',
      allow: 'manage-users',
      scope: 'key:read',
      replies: { 200: z.array(PublicKey) },
      handle: async ({ actor }) => ok(await Promise.all((await listKeys(app, actor)).map(({ id }) => describeKey(app, id)))),
    }),
    route('POST', '/api/auth/key', {
      summary: 'Create an API key; returns the token once, as a JSON string',
      allow: 'manage-users',
      scope: 'key:write',
      query: z.object({ subjectType: z.string().max(100).default('user') }),
      body: z.object({ name: Name, scopes: ScopeNames.default([]) }),
      replies: { 200: z.string() },
      async handle({ query, body, actor, settle }) {
        if (query.subjectType !== 'user')
          throw fault('request-invalid', {
            message: `Keys of a ${query.subjectType} do not exist.`,
            hint: 'Create an agent, which has a token, or a key with scopes.',
          })
        const scopes = readScopes(body.scopes)
        requireGrantable(actor, { role: 'admin', scopes })
        return toTokenAnswer(
          await createKey(
            app,
            { name: body.name, role: 'admin', scopes, owner: await requireOwner(app, actor, { role: 'admin' }) },
            (tx, key) => settle(tx, toTokenAnswer(key)),
          ),
        )
      },
    }),
    route('GET', '/api/auth/key/{id}', {
      summary: 'Show the owner of a key',
      allow: 'see-runners',
      scope: 'agent:read',
      params: ById,
      replies: { 200: PublicKey },
      handle: async ({ params }) => ok(await describeKey(app, params.id)),
    }),
    route('PATCH', '/api/auth/key/{id}', {
      summary: 'Change the name or the scopes of an API key',
      allow: 'manage-users',
      scope: 'key:write',
      params: ById,
      body: z.object({ name: Name.optional(), scopes: ScopeNames.optional() }),
      replies: { 200: PublicKey },
      async handle({ params, body: { name, scopes }, actor }) {
        const change = defined({ name, scopes: scopes && readScopes(scopes) })
        const { id } = await changeKey(app, { actor, id: params.id, change })
        authenticator.forget(id)
        return ok(await describeKey(app, id))
      },
    }),
    route('DELETE', '/api/auth/key/{id}', {
      summary: 'Revoke an API key',
      allow: 'manage-users',
      scope: 'key:write',
      params: ById,
      replies: { 204: 'nothing' },
      async handle({ params, actor }) {
        authenticator.forget(await deleteKey(app, actor, params.id))
        return done
      },
    }),
  ]
}

/** Reads scopes of public clients or of Windlass. Throws `request-invalid` for others. */
function readScopes(names: readonly string[]): Scope[] {
  const { scopes, unknown } = readScopeNames(names)
  if (unknown.length === 0) return scopes
  throw fault('request-invalid', {
    message: `Unknown scope: ${unknown.join(', ')}.`,
    hint: 'Use the scopes of docs/reference/scopes.md.',
  })
}

function toTokenAnswer({ token }: { readonly token: string }): Answer {
  return { status: 200, body: JSON.stringify(token), headers: { 'content-type': 'application/json' } }
}

/** Describes an API key or an agent token, by its id or the whole token. Throws `not-found`. */
async function describeKey(app: App, text: string): Promise<z.output<typeof PublicKey>> {
  const token = parseToken(text)
  const id = token?.id ?? text
  const agent = await findAgentById(app.store.query, id)
  const key = agent === undefined ? await findApiKey(app.store.query, id) : undefined
  const row = agent ?? key
  if (row === undefined || row.account_id !== app.accountId || (token !== undefined && !tokenMatches(token.secret, row.hash)))
    throw fault('not-found', { message: 'The key does not exist.' })
  return {
    _id: row.id,
    name: row.name,
    tokenPrefix: row.id.slice(0, 8),
    created: new Date(row.created_at).toISOString(),
    scopes: key === undefined ? null : (scopesOf(key) ?? null),
    subject: { type: agent === undefined ? 'user' : 'agent', ref: row.id },
  }
}
