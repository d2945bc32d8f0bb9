/** Routes for identity, health and metrics. */
import { defined, fault } from '@windlass/kit'
import { ApiKey, ApiKeyCreated, ApiKeyInput, Bootstrap, page, PROTOCOL_VERSION, ServerStatus, Whoami } from '@windlass/protocol'
import type { App } from '../../../app.ts'
import type { Authenticator } from '../../../identity/authenticate.ts'
import { createFirstKey } from '../../../identity/keys/first-key.ts'
import { nameOf, type Actor } from '../../../identity/actor.ts'
import { createKey, deleteKey, listKeys, requireOwner } from '../../../identity/keys/keys.ts'
import { requireGrantable } from '../../../identity/scopes.ts'
import { hasCredentials } from '../../../store/access/api-keys.ts'
import { listPlaceNames, type PlaceName } from '../../../store/account/place-names.ts'
import { FEATURES, VERSION } from '../../../version.ts'
import { ByName } from '../pipelines/pipeline.ts'
import { created, done, ok, route, type Route } from '../../route.ts'

/** Limit per address that slows down guessing of the code. */
const BOOTSTRAPS_PER_MINUTE = 20

export function identityRoutes(app: App, authenticator: Authenticator): Route[] {
  return [
    route('GET', '/v1/status', {
      summary: 'Show the version and features of the server',
      allow: 'public',
      scope: 'none',
      replies: { 200: ServerStatus },
      async handle() {
        const bootstrapped = await hasCredentials(app.store.query, app.accountId)
        return ok({
          version: VERSION,
          protocol: PROTOCOL_VERSION,
          features: FEATURES,
          bootstrapped,
          ...defined({ advertisedUrl: app.configuredUrl, oidc: app.oidc && { name: app.oidc.settings.name } }),
        })
      },
    }),
    route('POST', '/v1/bootstrap', {
      summary:
        'Create the first admin key with the bootstrap code of the server, or get it again; only possible until its first use',
      allow: 'public',
      scope: 'none',
      body: Bootstrap,
      perMinute: BOOTSTRAPS_PER_MINUTE,
      replies: { 201: ApiKeyCreated },
      handle: async ({ body }) => created(await createFirstKey(app, body)),
    }),
    route('GET', '/v1/whoami', {
      summary: 'Show the owner of this credential',
      allow: 'signed-in',
      scope: 'none',
      replies: { 200: Whoami },
      handle: async ({ actor }) => ok(await describeActor(app, actor)),
    }),
    route('GET', '/v1/keys', {
      summary: 'List the own API keys; all for an admin',
      allow: 'signed-in',
      scope: 'key:read',
      replies: { 200: page(ApiKey) },
      handle: async ({ actor }) => ok({ items: await listKeys(app, actor) }),
    }),
    route('POST', '/v1/keys', {
      summary: 'Create an API key for the caller, or for another owner as an admin; the token is returned only once',
      allow: 'signed-in',
      scope: 'key:write',
      body: ApiKeyInput,
      replies: { 201: ApiKeyCreated },
      async handle({ body, actor, settle }) {
        requireGrantable(actor, body)
        const owner = await requireOwner(app, actor, body)
        return created(await createKey(app, { ...body, owner, createdBy: nameOf(actor) }, (tx, key) => settle(tx, created(key))))
      },
    }),
    route('DELETE', '/v1/keys/{name}', {
      summary: 'Revoke an own API key; any for an admin',
      allow: 'signed-in',
      scope: 'key:write',
      params: ByName,
      replies: { 204: 'nothing' },
      async handle({ params, actor }) {
        authenticator.forget(await deleteKey(app, actor, params.name))
        return done
      },
    }),
  ]
}

async function describeActor(app: App, actor: Actor): Promise<Whoami> {
  if (actor.kind === 'build') return { kind: actor.kind, id: actor.id, name: actor.name, role: 'viewer' }
  if (actor.kind !== 'key') throw fault('forbidden')
  const { id, name, role, scopes, owner, expiresAt } = actor
  const { projects, pipelines } = await listPlaceNames(app.store.query, app.accountId, actor)
  return {
    kind: actor.isUser === true ? 'user' : 'key',
    id,
    name,
    role,
    ...(projects.length > 0 && { projects: rolesByName(projects, actor.projects) }),
    ...(pipelines.length > 0 && { pipelines: rolesByName(pipelines, actor.pipelines) }),
    ...defined({ scopes: scopes && [...scopes], owner, expiresAt }),
  }
}

function rolesByName(places: readonly PlaceName[], roles: ReadonlyMap<string, string> = new Map()): Record<string, string> {
  return Object.fromEntries(places.map(({ id, name }) => [name, roles.get(id) ?? '']))
}

export function healthRoutes(app: App): Route[] {
  return [
    route('GET', '/healthz', {
      summary: 'Check that the process is alive',
      allow: 'public',
      scope: 'none',
      replies: { 200: 'text' },
      handle: async () => ok('ok\n', { 'content-type': 'text/plain' }),
    }),
    route('GET', '/readyz', {
      summary: 'Check that the server is ready and its database responds',
      allow: 'public',
      scope: 'none',
      replies: { 200: 'text' },
      async handle() {
        if (app.closing.aborted) throw fault('unavailable', { message: 'The server is stopping.' })
        await app.store.ping()
        return ok(`ok\n${logsLine(app)}`, { 'content-type': 'text/plain' })
      },
    }),
    route('GET', '/metrics', {
      summary: 'Prometheus metrics; also on a separate port (METRICS_PORT) without a credential',
      allow: 'see-account',
      scope: 'account:read',
      replies: { 200: 'text' },
      handle: async () => ok(await app.metricsPage(), { 'content-type': app.metrics.registry.contentType }),
    }),
  ]
}

/** Reports a log storage that accepts no writes. The server stays ready, because all other calls work and engines keep their output. */
function logsLine({ logs }: App): string {
  const since = logs.failingSince()
  return since === undefined ? '' : `logs: not writable since ${new Date(since).toISOString()}\n`
}
