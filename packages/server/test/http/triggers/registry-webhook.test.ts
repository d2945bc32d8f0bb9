/** A real registry that reports its pushes to the server. */
import { sha256 } from '@windlass/kit'
import { expect, test } from 'vitest'
import { startRegistry } from '../../../../../e2e/support/registry.ts'
import { HELLO, openHttpScene } from '../../support/http-scene.ts'

/** Pushes an image without layers, as a client of the registry does. */
async function pushImage(registry: string, name: string, tag: string): Promise<string> {
  const config = Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', rootfs: { type: 'layers', diff_ids: [] } }))
  const digest = `sha256:${sha256(config)}`
  const begun = await fetch(`${registry}/v2/${name}/blobs/uploads/`, { method: 'POST' })
  const upload = new URL(begun.headers.get('location') ?? '', registry)
  upload.searchParams.set('digest', digest)
  const stored = await fetch(upload, { method: 'PUT', body: config, headers: { 'content-type': 'application/octet-stream' } })
  expect(stored.status).toBe(201)
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: 'application/vnd.docker.distribution.manifest.v2+json',
    config: { mediaType: 'application/vnd.docker.container.image.v1+json', size: config.length, digest },
    layers: [],
  })
  const tagged = await fetch(`${registry}/v2/${name}/manifests/${tag}`, {
    method: 'PUT',
    body: manifest,
    headers: { 'content-type': 'application/vnd.docker.distribution.manifest.v2+json' },
  })
  expect(tagged.status).toBe(201)
  return `sha256:${sha256(manifest)}`
}

test('a push to a registry starts a build of the pipeline that waits for the image (P150)', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await admin.pipelines.create({ name: 'team/scan', document: HELLO })
  const { items: none } = await admin.eventTriggers.list()
  expect(none).toEqual([])
  await admin.eventTriggers.create({ type: 'registry', pipeline: 'team/scan', name: 'base', image: 'team/base', tag: '1.*' })
  const { url, secret } = await admin.webhooks.create({ name: 'images', registry: 'distribution' })
  await using registry = await startRegistry({ notify: { url, headers: { Authorization: `Bearer ${secret}` } } })
  const digest = await pushImage(registry.url, 'team/base', '1.0')
  await expect.poll(async () => (await admin.builds.list()).items.length).toBe(1)
  const [build] = (await admin.builds.list()).items
  expect(build).toMatchObject({ pipeline: 'team/scan', trigger: { kind: 'registry', name: 'base' } })
  const built = (await admin.deliveries.list()).items.find(({ builds }) => builds.length > 0)
  expect(built).toMatchObject({
    registry: 'distribution',
    repo: 'team/base',
    branch: '1.0',
    revision: digest,
    builds: [build?.id],
  })
  await pushImage(registry.url, 'team/base', 'latest')
  await expect.poll(async () => (await admin.deliveries.list()).items.some(({ reason }) => reason === 'tag')).toBe(true)
  expect((await admin.builds.list()).items).toHaveLength(1)
})

test('a webhook belongs to a forge or to a registry, and Docker Hub has its secret in the address', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await expect(admin.webhooks.create({ name: 'none' })).rejects.toMatchObject({ code: 'request-invalid' })
  await expect(admin.webhooks.create({ name: 'both', forge: 'github', registry: 'acr' })).rejects.toMatchObject({
    code: 'request-invalid',
  })
  const { url, secret } = await admin.webhooks.create({ name: 'hub', registry: 'dockerhub' })
  expect(await admin.webhooks.get('hub')).toMatchObject({ registry: 'dockerhub' })
  const body = JSON.stringify({ push_data: { tag: '1' }, repository: { namespace: 'team', name: 'app' } })
  const call = async (address: string): Promise<number> =>
    (await fetch(address, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).status
  expect(await call(url)).toBe(401)
  expect(await call(`${url}?token=wrong`)).toBe(401)
  expect(await call(`${url}?token=${secret}`)).toBe(202)
  const test = await admin.triggers.test({ registry: 'dockerhub', body })
  expect(test).toMatchObject({ repo: 'team/app', branch: '1', reason: 'no-trigger' })
})

test('the secret of a webhook may be in the header of the credentials of this server, and gives no other right', async () => {
  await using scene = await openHttpScene()
  const { url, secret } = await scene.admin.webhooks.create({ name: 'harbor', registry: 'harbor' })
  const headers = { 'content-type': 'application/json', authorization: secret }
  expect((await fetch(url, { method: 'POST', headers, body: '{"type":"x"}' })).status).toBe(202)
  const wrong = { ...headers, authorization: `${secret}x` }
  expect((await fetch(url, { method: 'POST', headers: wrong, body: '{}' })).status).toBe(401)
  expect((await fetch(`${scene.server.url}/v1/webhooks`, { headers })).status).toBe(401)
})
