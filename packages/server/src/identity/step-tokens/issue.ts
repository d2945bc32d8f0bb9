/** ID tokens with which the steps of a build prove to clouds and other services which build they belong to (OpenID Connect, the server as issuer). */
import { randomUUID } from 'node:crypto'
import { fault } from '@windlass/kit'
import { SignJWT } from 'jose'
import type { App } from '../../app.ts'
import { readRequest } from '../../builds/create/request.ts'
import { readAccountSettings } from '../../account/settings.ts'
import { findBuild, findBuildRequest } from '../../store/builds/builds.ts'
import type { Actor } from '../actor.ts'
import { claimsOf } from './claims.ts'
import { ALGORITHM, currentSigningKey } from './keys.ts'

/** Path of the key set below the issuer. */
export const JWKS_PATH = '/.well-known/jwks.json'

/** Returns the discovery document of the issuer (OpenID Connect Discovery 1.0). */
export function discoveryOf(app: App): Record<string, unknown> {
  const issuer = app.advertisedUrl()
  return {
    issuer,
    jwks_uri: issuer + JWKS_PATH,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [ALGORITHM],
    scopes_supported: ['openid'],
    claims_supported: CLAIMS,
  }
}

const CLAIMS = [
  'iss',
  'aud',
  'sub',
  'iat',
  'nbf',
  'exp',
  'jti',
  'account_id',
  'account_name',
  'pipeline_id',
  'pipeline_name',
  'project_name',
  'workflow_id',
  'build_number',
  'attempt',
  'trigger',
  'trigger_name',
  'branch',
  'revision',
  'parent_build_id',
  'initiator',
  'scm_repo',
  'scm_repo_url',
  'scm_user_name',
  'scm_ref',
  'scm_tag',
  'scm_pull_request_target_branch',
]

/** Issues a token for the build of the caller: a step with its key, or the engine. The audience is the URL of this server by default. Throws `forbidden`. */
export async function issueStepToken(app: App, actor: Actor, audience: string | undefined): Promise<string> {
  if (actor.kind !== 'build' && actor.kind !== 'attempt') throw fault('forbidden')
  const { query } = app.store
  const build = await findBuild(query, app.accountId, actor.buildId)
  const request = build === undefined ? undefined : await findBuildRequest(query, build.id)
  if (build === undefined || request === undefined) throw fault('not-found')
  const { git } = readRequest(request)
  const { oidcTokenSeconds } = await readAccountSettings(query, app.accountId)
  const { id: kid, key } = await currentSigningKey(app)
  const seconds = Math.floor(app.clock.now() / 1000)
  const issuer = app.advertisedUrl()
  const jti = randomUUID()
  app.log.info({ audit: 'id-token-issued', build: build.id, audience: audience ?? issuer, jti }, 'ID token issued')
  return new SignJWT({ ...claimsOf({ build, accountName: app.accountName, git }) })
    .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(audience ?? issuer)
    .setIssuedAt(seconds)
    .setNotBefore(seconds)
    .setExpirationTime(seconds + oidcTokenSeconds)
    .setJti(jti)
    .sign(key)
}
