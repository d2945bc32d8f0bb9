/** A build whose steps get ID tokens, from the step type and from the address that the engine provides. */
import { join } from 'node:path'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { containerHost } from '../../../../e2e/support/docker.ts'
import { freePort } from '../../../../e2e/support/process.ts'
import { openSandbox, stopUp } from '../support.ts'

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.string() })

test('a step exports an ID token as a secret, and another step requests one itself (P185)', async () => {
  await using sandbox = await openSandbox()
  const host = await containerHost()
  const port = await freePort()
  const data = join(sandbox.folder, 'data')
  const up = ['up', '--detach', '--host', host, '--port', String(port), '--data', data]
  expect((await sandbox.run(up)).code).toBe(0)
  try {
    const shell = sandbox.images['SHELL_IMAGE']
    const steps = {
      identity: { type: 'obtain-oidc-id-token', arguments: { AUDIENCE: 'cloud.test' } },
      use: {
        image: shell,
        commands: [
          'echo "token $ID_TOKEN"',
          // Backwards, because the log masks the token.
          'echo "reversed $(printf %s "$ID_TOKEN" | rev)"',
          'echo "url $CF_OIDC_REQUEST_URL, credential $CF_OIDC_REQUEST_TOKEN"',
        ],
      },
    }
    const pipeline = JSON.stringify({ kind: 'pipeline', metadata: { name: 'demo/app' }, spec: { steps } })
    expect((await sandbox.run(['apply', '-f', await sandbox.file('app.yml', pipeline)])).code).toBe(0)
    const build = await sandbox.run(['run', 'demo/app'])
    expect([build.code, build.stderr]).toEqual([0, expect.any(String)])
    expect(build.stdout).toContain('ID_TOKEN is an ID token for cloud.test.')
    expect(build.stdout).toContain('token *****')
    expect(build.stdout).toMatch(/url http:.*\/v1\/oidc\/token, credential \*\*\*\*\*/)
    const token = (/reversed (\S+)/.exec(build.stdout)?.[1] ?? '').split('').toReversed().join('')
    const found = await fetch(`http://${host}:${port}/.well-known/openid-configuration`)
    const { issuer, jwks_uri: jwks } = Discovery.parse(await found.json())
    const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(jwks)), { issuer, audience: 'cloud.test' })
    expect(payload).toMatchObject({ pipeline_name: 'demo/app', trigger: 'manual' })
  } finally {
    await stopUp(sandbox, data)
  }
})
