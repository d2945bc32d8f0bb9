/** Which calls the audit log records, and as what. */
import type { FastifyRequest } from 'fastify'
import type { AuditedCall, Caller } from '../audit/call.ts'
import { isForUsers, type Actor } from '../identity/actor.ts'
import type { Route } from './route.ts'
import { shownUrl } from './shown-url.ts'

const MAX_AUDITED = 300

/** Returns the call for the audit log; undefined for calls that change nothing, and for those of agents and engines, whose reports are events of builds. */
export function auditedCall(
  { method, path, spec }: Route,
  request: Pick<FastifyRequest, 'url' | 'ip' | 'headers' | 'id'>,
  actor: Actor,
): AuditedCall | undefined {
  const isUsers = isForUsers(spec.allow) || spec.allow === 'public'
  const isRead = method === 'GET' && spec.hasEffect !== true
  if (isRead || spec.unaudited !== undefined || !isUsers) return undefined
  if (spec.allow !== 'public' && actor.kind !== 'key' && actor.kind !== 'build') return undefined
  return {
    caller: toCaller(actor),
    action: `${method} ${path}`,
    target: shownUrl(request.url).slice(0, MAX_AUDITED),
    address: request.ip,
    client: request.headers['user-agent']?.slice(0, MAX_AUDITED),
    requestId: request.id,
    isRecorded: false,
  }
}

/** Returns the actor as the audit log shows it. */
export function toCaller(actor: Actor): Caller {
  if (actor.kind === 'key')
    return { kind: actor.isUser === true ? 'user' : 'key', id: actor.id, name: actor.name, owner: actor.owner?.name }
  return actor.kind === 'build' ? { kind: 'build', id: actor.buildId, name: actor.name } : { kind: 'nobody', id: '', name: '' }
}
