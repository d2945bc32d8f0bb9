/** Routes for sign-in and sessions of browsers (docs/development/adr/0071, 0083). */
import { defined } from '@windlass/kit/defined'
import { Id, page, Session, SessionCode, SessionInput, SessionsEnded, SessionsQuery } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { startCursor } from '../../../feed/stream/start-cursor.ts'
import { endOwnSession, endSession, endSessions, listLiveSessions, showSession } from '../../../identity/sessions/sessions.ts'
import { createSessionCode, startSession, type SignInChecks } from '../../../identity/sessions/sign-in.ts'
import { created, ok, done, route, type Route } from '../../route.ts'

/** Limit per address that slows down guessing of codes and keys. */
export const SIGN_INS_PER_MINUTE = 20
export const NO_STORE = { 'cache-control': 'no-store' }

export function sessionRoutes(app: App, checks: SignInChecks): Route[] {
  return [
    route('POST', '/v1/sessions', {
      summary: 'Sign in a browser with a name and password, an API key or a one-time code; sets the session cookie',
      allow: 'public',
      scope: 'none',
      body: SessionInput,
      perMinute: SIGN_INS_PER_MINUTE,
      replies: { 201: Session },
      async handle({ body, reply: { request } }) {
        const { session, cookie } = await startSession(app, checks, { input: body, request, address: request.ip })
        const cursor = await startCursor(app)
        return created(
          { ...session, ...defined({ cursor }) },
          { ...NO_STORE, 'set-cookie': cookie, 'clear-site-data': '"cache"' },
        )
      },
    }),
    route('POST', '/v1/sessions/codes', {
      summary: 'Create a one-time sign-in code with the rights of this API key; valid for 15 minutes',
      allow: 'signed-in',
      scope: 'none',
      replies: { 201: SessionCode },
      handle: async ({ actor, settle }) =>
        created(await createSessionCode(app, actor, (tx, code) => settle(tx, created(code))), NO_STORE),
    }),
    route('GET', '/v1/sessions', {
      summary: 'List the own sessions; all for an admin',
      allow: 'signed-in',
      scope: 'key:read',
      replies: { 200: page(Session) },
      handle: async ({ actor }) => ok({ items: await listLiveSessions(app, actor) }),
    }),
    route('DELETE', '/v1/sessions', {
      summary: 'Sign out everywhere: end all own sessions, or those of a user',
      allow: 'signed-in',
      scope: 'key:write',
      query: SessionsQuery,
      replies: { 200: SessionsEnded },
      handle: async ({ actor, query }) => ok({ ended: await endSessions(app, actor, query.user) }),
    }),
    route('GET', '/v1/sessions/current', {
      summary: 'Show the session of this browser; renews its cookie once an hour',
      allow: 'signed-in',
      scope: 'none',
      replies: { 200: Session },
      async handle({ actor, reply: { request } }) {
        const { session, cookie } = await showSession(app, actor, request)
        const cursor = await startCursor(app)
        return ok({ ...session, ...defined({ cursor }) }, { ...NO_STORE, ...defined({ 'set-cookie': cookie }) })
      },
    }),
    route('DELETE', '/v1/sessions/current', {
      summary: 'Sign out this browser',
      allow: 'signed-in',
      scope: 'none',
      replies: { 204: 'nothing' },
      async handle({ actor, reply: { request } }) {
        const cookie = await endOwnSession(app, actor, request.protocol)
        return { ...done, headers: { 'set-cookie': cookie, 'clear-site-data': '"cache"' } }
      },
    }),
    route('DELETE', '/v1/sessions/{id}', {
      summary: 'End an own session; any for an admin',
      allow: 'signed-in',
      scope: 'key:write',
      params: z.object({ id: Id }),
      replies: { 204: 'nothing' },
      async handle({ actor, params }) {
        await endSession(app, actor, params.id)
        return done
      },
    }),
  ]
}
