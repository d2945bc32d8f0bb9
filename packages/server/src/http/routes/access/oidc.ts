/** Sign-in through an OpenID Connect provider. Browsers open these routes as pages. */
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { RETURN_PAGES } from '../../../identity/oidc/login.ts'
import { beginOidcSignIn, finishOidcSignIn, type Redirect } from '../../../identity/oidc/sign-in.ts'
import type { SignInChecks } from '../../../identity/sessions/sign-in.ts'
import { route, type Answer, type Route } from '../../route.ts'
import { NO_STORE, SIGN_INS_PER_MINUTE } from './session.ts'

const Begin = z.object({ to: z.enum(RETURN_PAGES).default('signin') })
const Text = z.string().max(4000)
/** What providers send: a code, or an error with its text. */
const Parameters = z.object({
  code: Text.optional(),
  state: Text.optional(),
  iss: Text.optional(),
  error: Text.optional(),
  error_description: Text.optional(),
})

export function oidcRoutes(app: App, { authenticator }: SignInChecks): Route[] {
  return [
    route('GET', '/v1/sessions/oidc', {
      summary: 'Send the browser to the OpenID Connect provider to sign in',
      allow: 'public',
      scope: 'none',
      isPage: true,
      query: Begin,
      replies: { 302: 'nothing' },
      handle: async ({ query, reply: { request } }) => redirect(await beginOidcSignIn(app, { request }, query.to)),
    }),
    route('GET', '/v1/sessions/oidc/callback', {
      summary: 'Sign in a browser that the OpenID Connect provider sends back; sets the session cookie',
      allow: 'public',
      scope: 'none',
      isPage: true,
      hasEffect: true,
      query: Parameters,
      perMinute: SIGN_INS_PER_MINUTE,
      replies: { 302: 'nothing' },
      async handle({ query, reply: { request } }) {
        const { keys, ...to } = await finishOidcSignIn(app, { request, address: request.ip }, query)
        for (const key of keys) authenticator.forget(key)
        return redirect(to)
      },
    }),
  ]
}

function redirect({ location, cookies }: Redirect): Answer {
  return { status: 302, headers: { ...NO_STORE, location, 'set-cookie': cookies, 'referrer-policy': 'no-referrer' } }
}
