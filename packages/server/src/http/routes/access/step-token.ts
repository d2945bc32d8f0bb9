/** Routes of the issuer of ID tokens for steps. */
import { IdToken, IdTokenQuery } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { discoveryOf, issueStepToken, JWKS_PATH } from '../../../identity/step-tokens/issue.ts'
import { publicKeys } from '../../../identity/step-tokens/keys.ts'
import { ok, route, type Route } from '../../route.ts'
import { NO_STORE } from './session.ts'

/** How long relying parties may cache the documents, much less than a key is public before it signs. */
const CACHED = { 'cache-control': 'public, max-age=900' }

export function stepTokenRoutes(app: App): Route[] {
  return [
    route('GET', '/.well-known/openid-configuration', {
      summary: 'Discovery document of the issuer of ID tokens for steps',
      allow: 'public',
      scope: 'none',
      replies: { 200: z.record(z.string(), z.unknown()) },
      handle: async () => ok(discoveryOf(app), CACHED),
    }),
    route('GET', JWKS_PATH, {
      summary: 'Public keys of the issuer of ID tokens for steps',
      allow: 'public',
      scope: 'none',
      replies: { 200: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }) },
      handle: async () => ok(await publicKeys(app), CACHED),
    }),
    route('GET', '/v1/oidc/token', {
      summary: 'Issue an ID token for the build of the calling step or engine',
      allow: 'attempt',
      scope: 'none',
      query: IdTokenQuery,
      replies: { 200: IdToken },
      handle: async ({ actor, query }) => ok({ id_token: await issueStepToken(app, actor, query.audience) }, NO_STORE),
    }),
  ]
}
