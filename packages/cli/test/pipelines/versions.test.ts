/** Commands for versions of pipelines, views of builds and deliveries of registries, against a real server. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HELLO, openHttpScene } from '../../../server/test/support/http-scene.ts'
import { windlass } from '../windlass.ts'

test('apply says why, and get, diff and restore use the versions of a pipeline (W069)', async () => {
  await using scene = await openHttpScene()
  const file = join(scene.dataDir, 'pipeline.yml')
  await writeFile(file, HELLO)
  const apply = ['apply', '-f', file, '--name', 'demo/app', '--message']
  expect((await windlass(scene, [...apply, 'The first one'])).code).toBe(0)
  await writeFile(file, HELLO.replace('echo hello', 'echo other'))
  expect((await windlass(scene, [...apply, 'Say something else'])).code).toBe(0)
  expect((await windlass(scene, [...apply, 'The same again'])).code).toBe(0)
  const history = await windlass(scene, ['get', 'pipelines', 'demo/app', '--history'])
  expect(history.text).toMatch(/2 \(current\) +admin .*Say something else\n1 +admin .*The first one/)
  expect(history.text).not.toContain('The same again')
  const shown = await windlass(scene, ['get', 'pipelines', 'demo/app', '--version', '1', '-o', 'json'])
  expect(JSON.parse(shown.text)).toMatchObject({ version: 1, document: HELLO, current: false })
  const diff = await windlass(scene, ['diff', 'pipelines', 'demo/app'])
  expect(diff.code).toBe(1)
  expect(diff.text).toMatch(/^-\s+commands: \[echo hello\]\n\+\s+commands: \[echo other\]$/m)
  const same = await windlass(scene, ['diff', 'pipelines', 'demo/app', '--first-version', '2', '--second-version', '2'])
  expect([same.code, same.text]).toEqual([0, ''])
  const restored = await windlass(scene, ['restore', 'pipelines', 'demo/app', '--version', '1'])
  expect(restored.text).toBe('pipeline/demo/app restored: version 3 has the content of version 1\n')
  expect(await scene.admin.pipelines.get('demo/app')).toMatchObject({ revision: 3, document: HELLO })
  expect((await windlass(scene, ['restore', 'pipelines', 'demo/app'])).code).toBe(2)
  expect((await windlass(scene, ['get', 'pipelines', '--history'])).code).toBe(2)
  expect((await windlass(scene, ['get', 'projects', 'demo', '--history'])).code).toBe(2)
})

test('get views lists own and shared views, and get builds uses one with further filters', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await admin.pipelines.create({ name: 'demo/app', document: HELLO })
  for (const branch of ['main', 'next']) await admin.builds.create({ pipeline: 'demo/app', branch }, { idempotencyKey: false })
  await admin.views.create({ name: 'Main', filter: { branch: ['main'], initiator: ['admin', 'jo'] } })
  await admin.preferences.put({
    views: [{ name: 'Mine', filter: { initiator: ['admin'], status: ['pending', 'elected'] } }],
    defaultView: { name: 'Mine', shared: false },
  })
  const listed = await windlass(scene, ['get', 'views'])
  expect(listed.text).toMatch(/Mine +yes +status=pending,elected initiator=admin\nMain +yes +branch=main initiator=admin,jo/)
  const names = async (...words: string[]) => {
    const { text } = await windlass(scene, ['get', 'builds', '--no-headers', ...words])
    return text.match(/\b(?:main|next)\b/g)
  }
  expect(await names('--view', 'Main')).toEqual(['main'])
  expect(await names('--view', 'Mine')).toEqual(['next', 'main'])
  expect(await names('--view', 'Mine', '--branch', 'next')).toEqual(['next'])
  const missing = await windlass(scene, ['get', 'builds', '--view', 'Mainn'])
  expect([missing.code, missing.text]).toEqual([3, expect.stringContaining('Did you mean "Main"?')])
  expect((await windlass(scene, ['get', 'pipelines', '--view', 'Main'])).code).toBe(2)
})

test('describe delivery names the artifact, tag and digest of a call of a registry', async () => {
  await using scene = await openHttpScene()
  const { url, secret } = await scene.admin.webhooks.create({ name: 'hub', registry: 'dockerhub' })
  const body = { push_data: { tag: '1.0' }, repository: { namespace: 'acme', name: 'base' } }
  const sent = await fetch(`${url}?token=${secret}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(sent.status).toBe(202)
  const [delivery] = (await scene.admin.deliveries.list()).items
  const shown = await windlass(scene, ['describe', 'delivery', delivery?.id ?? ''])
  expect(shown.text).toMatch(/Artifact: +\S*acme\/base\nTag: +1\.0/)
  expect(shown.text).not.toMatch(/Repository|Branch|Commit/)
})
