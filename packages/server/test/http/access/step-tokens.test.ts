/** ID tokens of steps, verified as a relying party does. */
import { engineCalls } from '@windlass/client/engine'
import { manualClock, systemClock } from '@windlass/kit'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify, type JWTPayload } from 'jose'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { startEngine } from '../../support/fakes/fake-agent.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const Discovery = z.object({
  issuer: z.string(),
  jwks_uri: z.string(),
  id_token_signing_alg_values_supported: z.array(z.string()),
})

/** Requests a token as a step does: with the bare key in the header. */
async function request({ server }: Pick<HttpScene, 'server'>, key: string, query = ''): Promise<Response> {
  return fetch(`${server.url}/v1/oidc/token${query}`, { headers: { authorization: key } })
}

async function tokenOf(scene: Pick<HttpScene, 'server'>, key: string, query = ''): Promise<string> {
  return z.object({ id_token: z.string() }).parse(await (await request(scene, key, query)).json()).id_token
}

/** Verifies a token with what the issuer publishes. */
async function verify({ server }: Pick<HttpScene, 'server'>, token: string, audience: string): Promise<JWTPayload> {
  const discovery = Discovery.parse(await (await fetch(`${server.url}/.well-known/openid-configuration`)).json())
  const keys = createRemoteJWKSet(new URL(discovery.jwks_uri))
  const algorithms = discovery.id_token_signing_alg_values_supported
  return (
    await jwtVerify(token, keys, {
      issuer: discovery.issuer,
      audience,
      algorithms,
      currentDate: new Date(server.app.clock.now()),
    })
  ).payload
}

test('a relying party accepts a token, and its claims are facts of the build (P185)', async () => {
  await using scene = await openHttpScene()
  const { admin, server } = scene
  await admin.projects.create({ name: 'shop' })
  await admin.pipelines.create({ name: 'shop/app', document: HELLO })
  const { id: pipelineId } = await admin.pipelines.get('shop/app')
  const { build, engine } = await scene.start({ pipeline: 'shop/app', document: undefined, branch: 'main' })
  const claims = await verify(scene, await tokenOf(scene, engine.claimed.buildToken ?? '', '?audience=cloud.test'), 'cloud.test')
  expect(claims).toMatchObject({
    iss: server.url,
    aud: 'cloud.test',
    sub: `account:${server.app.accountId}:pipeline:${pipelineId}:initiator:admin`,
    account_id: server.app.accountId,
    account_name: 'default',
    pipeline_id: pipelineId,
    pipeline_name: 'shop/app',
    project_name: 'shop',
    workflow_id: build.id,
    build_number: '1',
    branch: 'main',
    trigger: 'manual',
    initiator: 'admin',
  })
  expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(300)
  const own = await tokenOf(scene, engine.claimed.buildToken ?? '')
  expect(await verify(scene, own, server.url)).toMatchObject({ aud: server.url })
  await expect(verify(scene, own, 'cloud.test')).rejects.toThrow('aud')
  const { id_token: ofEngine } = await engineCalls(scene.nobody.withToken(engine.claimed.token)).idToken({
    query: { audience: 'cloud.test' },
  })
  const again = await verify(scene, ofEngine, 'cloud.test')
  expect([again.sub, again.jti === claims.jti]).toEqual([claims.sub, false])
})

test('variables, documents and steps of a build cannot change its claims', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  for (const name of ['app', 'prod']) await admin.pipelines.create({ name: `shop/${name}`, document: HELLO })
  const { engine, build } = await scene.start({
    pipeline: 'shop/app',
    document: "version: '1.0'\nkind: pipeline\nmetadata: { name: shop/prod }\nspec: { steps: { a: { image: alpine } } }\n",
    variables: { CF_PIPELINE_NAME: 'shop/prod', CF_BRANCH: 'main', CF_BUILD_INITIATOR: 'root', CF_ACCOUNT: 'other' },
    git: { repoOwner: 'x:scm_ref:main', repoName: 'y' },
    branch: 'a:scm_user_name:root',
  })
  const key = engine.claimed.buildToken ?? ''
  const claims = await verify(scene, await tokenOf(scene, key), scene.server.url)
  expect(claims).toMatchObject({ pipeline_name: 'shop/app', account_name: 'default', initiator: 'admin', workflow_id: build.id })
  expect(claims.sub).toMatch(
    /^account:[0-9a-f]{24}:pipeline:[0-9a-f]{24}:initiator:admin:scm_repo_url:x%3Ascm_ref%3Amain\/y:scm_ref:a%3Ascm_user_name%3Aroot$/,
  )
  // A build that a step starts names that step, whatever branch it asks for.
  const child = await scene.nobody.withToken(key).builds.create({ pipeline: 'shop/prod', branch: 'main' })
  const [task] = await scene.agent.claim()
  if (task?.kind !== 'start-attempt') throw new Error('the child build was not started')
  const started = await startEngine(scene.server.url, task)
  const ofChild = await verify(scene, await tokenOf(scene, started.claimed.buildToken ?? ''), scene.server.url)
  expect(ofChild).toMatchObject({ trigger: 'build', initiator: 'build 1', parent_build_id: build.id, workflow_id: child.id })
})

test('only steps and engines of a running attempt get tokens', async () => {
  await using scene = await openHttpScene()
  const { engine } = await scene.start()
  for (const key of [scene.adminToken, scene.agentToken]) expect((await request(scene, key)).status).toBe(403)
  expect((await fetch(`${scene.server.url}/v1/oidc/token`)).status).toBe(401)
  expect((await request(scene, engine.claimed.buildToken ?? '', `?audience=${'a'.repeat(501)}`)).status).toBe(400)
  await engine.succeed()
  expect((await request(scene, engine.claimed.buildToken ?? '')).status).toBe(401)
  expect((await request(scene, engine.claimed.token)).status).toBe(409)
})

test('the account sets the lifetime of tokens', async () => {
  await using scene = await openHttpScene()
  await scene.admin.settings.put({ oidcTokenSeconds: 3600 })
  const { engine } = await scene.start()
  const { exp = 0, iat = 0 } = await verify(scene, await tokenOf(scene, engine.claimed.buildToken ?? ''), scene.server.url)
  expect(exp - iat).toBe(3600)
  await expect(scene.admin.settings.put({ oidcTokenSeconds: 3601 })).rejects.toMatchObject({ code: 'request-invalid' })
})

test('a token is refused after its end, and the store has no private key in plain text', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock })
  const { engine } = await scene.start()
  const token = await tokenOf(scene, engine.claimed.buildToken ?? '')
  clock.advance(299_000)
  await verify(scene, token, scene.server.url)
  clock.advance(2_000)
  await expect(verify(scene, token, scene.server.url)).rejects.toThrow('exp')
  const rows = await scene.server.app.store.query.selectFrom('signing_key').selectAll().execute()
  expect(rows).toHaveLength(1)
  expect(decodeProtectedHeader(token).kid).toBe(rows[0]?.id)
  expect(rows[0]?.private_key).toMatch(/^s1\./)
  expect(JSON.parse(rows[0]?.public_key ?? '')).not.toHaveProperty('d')
})
