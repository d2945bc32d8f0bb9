/** Identity, health, metrics, and the description of all the rest. */
import { fault } from '@windlass/kit'
import { ApiKey, ApiKeyCreated, ApiKeyInput, Bootstrap, page, PROTOCOL_VERSION, ServerStatus } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { measureStore } from '../measure.ts'
import type { Authenticator } from '../identity/authenticate.ts'
import { createFirstKey, createKey, deleteKey, listKeys } from '../identity/keys.ts'
import { requireNoMore } from '../identity/scopes.ts'
import { countApiKeys } from '../store/api-keys.ts'
import { FEATURES, VERSION } from '../version.ts'
import { ByName } from './pipeline-routes.ts'
import { created, done, ok, route, type Route } from './route.ts'

const Whoami = z.object({
  kind: z.string(),
  id: z.string(),
  name: z.string(),
  role: z.string().optional(),
  /** All that the role allows when absent. */
  scopes: z.array(z.string()).optional(),
})
/** More are not meant to be made by hand. */
const BOOTSTRAPS_PER_MINUTE = 20

export function identityRoutes(app: App, authenticator: Authenticator): Route[] {
  return [
    route('GET', '/v1/status', {
      summary: 'Version and features of the server',
      allow: 'public',
      replies: { 200: ServerStatus },
      async handle() {
        const bootstrapped = (await countApiKeys(app.store.query, app.accountId)) > 0
        return ok({ version: VERSION, protocol: PROTOCOL_VERSION, features: FEATURES, bootstrapped })
      },
    }),
    route('POST', '/v1/bootstrap', {
      summary: 'Create the first admin key; possible only while there is no key',
      allow: 'public',
      body: Bootstrap,
      perMinute: BOOTSTRAPS_PER_MINUTE,
      replies: { 201: ApiKeyCreated },
      handle: async ({ body }) => created(await createFirstKey(app, body.name)),
    }),
    route('GET', '/v1/whoami', {
      summary: 'Whose credential this is',
      allow: 'viewer',
      replies: { 200: Whoami },
      async handle({ actor }) {
        if (actor.kind === 'build') return ok({ kind: actor.kind, id: actor.id, name: actor.name, role: 'viewer' })
        if (actor.kind !== 'key') throw fault('forbidden')
        return ok({ kind: actor.kind, id: actor.id, name: actor.name, role: actor.role, scopes: actor.scopes })
      },
    }),
    route('GET', '/v1/keys', {
      summary: 'List API keys',
      allow: 'admin',
      replies: { 200: page(ApiKey) },
      handle: async () => ok({ items: await listKeys(app) }),
    }),
    route('POST', '/v1/keys', {
      summary: 'Create an API key; the token is answered once',
      allow: 'admin',
      body: ApiKeyInput,
      replies: { 201: ApiKeyCreated },
      async handle({ body, actor }) {
        requireNoMore(actor, body.scopes)
        return created(await createKey(app, body))
      },
    }),
    route('DELETE', '/v1/keys/{name}', {
      summary: 'Revoke an API key',
      allow: 'admin',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        authenticator.forget(await deleteKey(app, params.name))
        return done
      },
    }),
  ]
}

export function healthRoutes(app: App): Route[] {
  return [
    route('GET', '/healthz', {
      summary: 'The process lives',
      allow: 'public',
      replies: { 200: 'text' },
      handle: async () => ok('ok\n', { 'content-type': 'text/plain' }),
    }),
    route('GET', '/readyz', {
      summary: 'The server can answer: its database does',
      allow: 'public',
      replies: { 200: 'text' },
      async handle() {
        if (app.closing.aborted) throw fault('unavailable', { message: 'The server is stopping.' })
        await app.store.ping()
        return ok('ok\n', { 'content-type': 'text/plain' })
      },
    }),
    route('GET', '/metrics', {
      summary: 'Figures for Prometheus',
      allow: 'public',
      replies: { 200: 'text' },
      async handle() {
        await measureStore(app)
        return ok(await app.metrics.registry.metrics(), { 'content-type': app.metrics.registry.contentType })
      },
    }),
  ]
}
