/** Commands for links and for users of a provider, against a real server. */
import { LINK_HEADER } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { HELLO, openHttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

function urlIn(text: string): string {
  return /http\S+/.exec(text)?.[0] ?? ''
}

test('share prints a link, and get and delete manage links (P186)', async () => {
  await using scene = await openHttpScene()
  await scene.admin.pipelines.create({ name: 'shop/app', document: HELLO })
  const { build, engine } = await scene.start({ pipeline: 'shop/app', document: undefined })
  await engine.succeed()
  const shared = await windlass(scene, ['share', 'build', build.id, '--days', '2'])
  expect([shared.code, shared.text]).toEqual([0, expect.stringMatching(/^http\S+\n/)])
  const link = new URLSearchParams(new URL(urlIn(shared.text)).hash.slice(1)).get('link') ?? ''
  const read = (): Promise<Response> =>
    fetch(`${scene.server.url}/v1/shared/builds/${build.id}/log`, { headers: { [LINK_HEADER]: link } })
  expect(await (await read()).text()).toContain('output of hello')
  const badge = await windlass(scene, ['share', 'badge', 'shop/app'])
  expect((await fetch(urlIn(badge.text))).status).toBe(200)
  const listed = await windlass(scene, ['get', 'links'])
  expect(listed.text).toMatch(/build +shop\/app +1 +admin/)
  expect(listed.text).toMatch(/badge +shop\/app +admin +never/)
  const id = link.split('.')[0] ?? ''
  expect((await windlass(scene, ['delete', 'link', id])).code).toBe(0)
  expect((await read()).status).toBe(401)
  expect((await windlass(scene, ['share', 'build', build.id, '--days', '91'])).code).not.toBe(0)
})

test('set user links a user to a subject of the provider and unlinks the user', async () => {
  const oidc = {
    issuer: 'https://login.test',
    clientId: 'windlass',
    scopes: ['openid'],
    name: 'Acme',
    groupsClaim: 'groups',
    defaultRole: 'none',
  } as const
  await using scene = await openHttpScene({ oidc })
  await scene.admin.users.create({ name: 'mira' })
  expect((await windlass(scene, ['set', 'user', 'mira', '--subject', 'u-1'])).code).toBe(0)
  expect(await scene.admin.users.get('mira')).toMatchObject({ subject: 'u-1', state: 'active' })
  expect((await windlass(scene, ['set', 'user', 'mira', '--unlink-subject'])).code).toBe(0)
  expect(await scene.admin.users.get('mira')).toMatchObject({ state: 'invited' })
  expect((await windlass(scene, ['set', 'user', 'mira', '--subject', 'u-1', '--unlink-subject'])).code).toBe(2)
})
