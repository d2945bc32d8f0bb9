/** `gitops` and `get tunnels` against a real server. */
import { statusCalls } from '@windlass/client/app-proxy'
import { expect, test } from 'vitest'
import { openHttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

test('tokens of GitOps runtimes are created, listed and deleted, and their tunnels and their status are shown (O006)', async () => {
  await using scene = await openHttpScene({ tunnels: { domain: 'tunnels.test', port: 0 } })
  expect(await windlass(scene, ['get', 'tunnels'])).toMatchObject({ code: 0, text: expect.stringContaining('No') })
  const created = await windlass(scene, ['gitops', 'token', 'create', 'prod'])
  expect(created.code).toBe(0)
  const [token = '', ...notes] = created.text.trim().split('\n')
  expect(token).toMatch(/^[0-9a-f]{24}\.[\w-]{43}$/)
  expect(notes.join('\n')).toContain('-prod.tunnels.test')
  expect(notes.join('\n')).toContain('https://register.tunnels.test')
  const table = await windlass(scene, ['get', 'tunnels'])
  expect(table.text).toMatch(/^RUNTIME +STATUS +SEEN +VERSION +URL +AGE\nprod +offline +https:/)
  expect((await windlass(scene, ['get', 'tunnels', 'prod', '-o', 'yaml'])).text).toContain('status: offline\n')
  const id = token.split('.')[0] ?? ''
  expect((await windlass(scene, ['gitops', 'token', 'list', 'prod'])).text).toContain(id)
  await statusCalls(scene.nobody.withToken(token)).status({
    version: '1.2.3',
    checks: {
      runtimeGitToken: { status: 'successful', description: 'https://git.test accepts it.' },
      defaultGitIntegration: { status: 'failed', description: 'There is no Git integration.', hint: 'Add one.' },
    },
    syncMode: 'helm',
    argoCd: { state: 'not-found', message: 'Argo CD does not answer.' },
  })
  const status = await windlass(scene, ['gitops', 'status', 'prod'])
  expect([status.code, status.text.replaceAll(/\b\d+s\b/g, 'AGE')]).toMatchInlineSnapshot(`
    [
      0,
      "Runtime:    prod
    Tunnel:     offline
    App-proxy:  1.2.3, last report AGE ago
    Installed:  by Helm
    Argo CD:    does not answer
    Clusters:   0

    CHECK                     STATUS   FOUND
    app-proxy                 ok       The app-proxy 1.2.3 reports.
    key of the Git tokens     unknown  The app-proxy does not know this check.
    random part of the key    unknown  The app-proxy does not know this check.
    default Git integration   failed   There is no Git integration.
    Git token of the runtime  ok       https://git.test accepts it.
    shared repository         failed   The account has not chosen a shared configuration repository.
    Git source                unknown  The app-proxy does not know this check.
    token of Argo CD          unknown  The app-proxy does not know this check.

    There is no Git integration. Add one.
    The account has not chosen a shared configuration repository. An admin chooses one: \`windlass gitops config set prod --shared-config-repo URL\`.
    Argo CD does not answer.
    ",
    ]
  `)
  expect((await windlass(scene, ['gitops', 'status', 'prod', '-o', 'yaml'])).text).toContain('state: not-found\n')
  expect((await windlass(scene, ['gitops', 'status', 'none'])).code).toBe(3)
  expect(await windlass(scene, ['gitops', 'token', 'delete', 'prod', id])).toEqual({ code: 0, text: `token/${id} deleted\n` })
  expect((await windlass(scene, ['gitops', 'token', 'delete', 'prod', id])).code).toBe(3)
  expect((await windlass(scene, ['gitops', 'disconnect', 'prod'])).text).toBe('tunnel/prod disconnected\n')
  expect(await windlass(scene, ['delete', 'tunnels', 'prod'])).toMatchObject({
    code: 2,
    text: expect.stringContaining('gitops delete'),
  })
  expect((await windlass(scene, ['gitops', 'delete', 'prod'])).text).toBe('gitops-runtime/prod deleted\n')
  expect((await windlass(scene, ['get', 'tunnels', 'prod'])).code).toBe(3)
  expect((await windlass(scene, ['gitops', 'token', 'create', 'Not Valid'])).code).toBe(2)
})

test('tunnel run names each setting that is missing or wrong', async () => {
  await using scene = await openHttpScene()
  const missing = await windlass(scene, ['tunnel', 'run'])
  expect(missing.code).not.toBe(0)
  for (const option of ['--server-url', '--runtime', '--token-file']) expect(missing.text).toContain(`(${option})`)
  const line = 'tunnel run --server-url https://register.tunnels.test --runtime prod --token-file /nowhere/token'
  const wrong = await windlass(scene, line.split(' '))
  expect(wrong.text).toContain('/nowhere/token')
})
