/** Which scope a route asks of keys that are limited to scopes. */
import { fault } from '@windlass/kit'
import { missingScopes, Scope, type Method } from '@windlass/protocol'
import type { Actor } from './actor.ts'

/** First part of the path behind `/v1/` or `/api/` -> what its scopes are called. Absent: no scope is asked for. */
const RESOURCES: Readonly<Record<string, string>> = {
  admin: 'runtime',
  agents: 'agent',
  annotations: 'build',
  builds: 'build',
  certificates: 'certificate',
  clusters: 'cluster',
  contexts: 'context',
  images: 'build',
  installations: 'installation',
  keys: 'key',
  monitors: 'cluster',
  pipelines: 'pipeline',
  projects: 'pipeline',
  'runtime-environments': 'runtime',
  runtimes: 'runtime',
  settings: 'account',
  'step-types': 'pipeline',
  validate: 'pipeline',
}

/** Calls that change nothing although they are POSTs. */
const READING = ['/v1/validate']

/** The scope that a route asks for unless it names another; undefined when every key may call it. */
export function scopeOf(method: Method, path: string): Scope | undefined {
  const [, version, part = ''] = path.split('/')
  const resource = version === 'v1' || version === 'api' ? RESOURCES[part] : undefined
  if (resource === undefined) return undefined
  return Scope.parse(`${resource}:${method === 'GET' || READING.includes(path) ? 'read' : 'write'}`)
}

/** Throws `scope-missing` that names the scope when the caller's key is limited to others. */
export function requireScope(actor: Actor, scope: Scope | undefined): void {
  if (scope === undefined || actor.kind !== 'key' || actor.scopes === undefined) return
  const missing = missingScopes(actor.scopes, [scope])
  if (missing.length === 0) return
  throw fault('scope-missing', {
    message: `The key ${actor.name} lacks the scope ${missing.join(', ')}; it has ${actor.scopes.join(', ')}.`,
  })
}

/** Throws `scope-missing` when a limited key would give away more than it has: another key's scopes must be among its own. */
export function requireNoMore(actor: Actor, scopes: readonly Scope[] | undefined): void {
  if (actor.kind !== 'key' || actor.scopes === undefined) return
  const missing = missingScopes(actor.scopes, scopes ?? [])
  if (scopes !== undefined && scopes.length > 0 && missing.length === 0) return
  const lacking = missing.length === 0 ? 'all scopes' : `the scope ${missing.join(', ')}`
  throw fault('scope-missing', { message: `The key ${actor.name} lacks ${lacking}: it cannot give away more than it has.` })
}
