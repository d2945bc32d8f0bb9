import { fault, silentLog, systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { fakeDocker } from '../../test/support/fake-docker.ts'
import { openImageClaims } from '../clean/image-claims.ts'
import { openStepImages, pullHint, toStepImage } from './step-images.ts'

test.each([
  ['Get "https://r.example/v2/": dial tcp: lookup r.example on 10.0.0.1:53: no such host', 'does not reach the registry'],
  ['Get "https://r.example/v2/": dial tcp 10.0.0.9:443: connect: connection refused', 'does not reach the registry'],
  ['Get "https://r.example/v2/": net/http: request canceled (Client.Timeout exceeded)', 'does not reach the registry'],
  ['Get "https://r.example/v2/": x509: certificate signed by unknown authority', 'does not trust r.example'],
  ['http: server gave HTTP response to HTTPS client', 'does not trust r.example'],
  ['manifest for r.example/app:1 not found: manifest unknown', 'Check the name and the tag'],
  ['pull access denied for app, repository does not exist', 'Check the name and the tag'],
])('gives a hint that fits the error: %s', (message, hint) => {
  expect(pullHint(message, 'r.example/app:1')).toContain(hint)
})

test('names the ways to get an image of Windlass, whatever the error is', () => {
  const hint = 'Build it in a clone with `scripts/images tools`, or load it from a release with `docker load`.'
  for (const name of ['windlass/tools:9.9.9', 'r.example/mirror/windlass/tools:9.9.9'])
    expect(pullHint('dial tcp 10.0.0.9:443: i/o timeout', name)).toContain(hint)
  expect(pullHint('manifest unknown', 'acme/windlass-tools:1')).toContain('Check the name and the tag')
})

/** Opens the images of an attempt whose registry has these images, or every one. `disk` are those of the daemon. */
function openImages(pullable?: readonly string[]) {
  const disk = new Set(['alpine:3'])
  const calls: string[] = []
  const docker = fakeDocker({
    async inspectImage(name: string) {
      if (!disk.has(name)) return undefined
      return { id: `sha256:${name}`, environment: [], workingDirectory: '', repoDigests: [], labels: {}, sizeBytes: 1 }
    },
    async pullImage(name: string) {
      calls.push(`pull ${name}`)
      if (pullable?.includes(name) === false) throw fault('docker-refused', { message: 'not found', dockerStatus: 404 })
      disk.add(name)
    },
  })
  const { signal } = new AbortController()
  const common = {
    docker,
    registries: [],
    clock: systemClock,
    log: silentLog,
    signal,
    claims: openImageClaims(),
    own: ['windlass/cosign:1', 'windlass/deploy:1'],
  }
  const say = async (line: string): Promise<void> => void calls.push(line.replace(/ in .*/, ''))
  /** Creates a container of an image. */
  const create = async ({ id }: { id: string }): Promise<string> => {
    calls.push(`create ${id}`)
    if (!disk.has(id.replace('sha256:', '')))
      throw fault('docker-refused', { message: `No such image: ${id}`, dockerStatus: 404 })
    return 'created'
  }
  return { images: openStepImages(common), disk, calls, create, options: { signal, say } }
}

test.each([
  ['alpine:3', ['other@sha256:2', 'alpine@sha256:1'], 'sha256:1'],
  ['docker.io/library/alpine:3', ['alpine@sha256:1'], 'sha256:1'],
  ['alpine@sha256:9', [], 'sha256:9'],
  ['app:1', ['one@sha256:1', 'two@sha256:2'], undefined],
  ['app:1', [], undefined],
])('the digest of %s is that of its repository', (name, repoDigests, digest) => {
  expect(toStepImage({ name, repoDigests }).digest).toBe(digest)
})

test('pulls an image again that was removed after it was prefetched', async () => {
  const { images, disk, calls, create, options } = openImages()
  images.prefetch({ name: 'alpine:3' })
  await images.ensure({ name: 'alpine:3' }, options)
  disk.clear()
  expect(await images.use({ name: 'alpine:3' }, options, create)).toBe('created')
  expect(calls.slice(1)).toEqual([
    'Image alpine:3 is on the disk (alpine:3).',
    'create sha256:alpine:3',
    'The Docker daemon no longer has the image alpine:3.',
    'pull alpine:3',
    'Image alpine:3 was pulled',
    'create sha256:alpine:3',
  ])
  // The next step uses what was found last.
  expect(await images.use({ name: 'alpine:3' }, options, create)).toBe('created')
  expect(calls.filter((call) => call.startsWith('pull'))).toHaveLength(1)
})

test('does not find an image that is removed again', async () => {
  const { images, disk, calls, create, options } = openImages()
  const remove = (image: { id: string }): Promise<string> => {
    disk.clear()
    return create(image)
  }
  await expect(images.use({ name: 'alpine:3' }, options, remove)).rejects.toMatchObject({ reason: 'image-not-found' })
  expect(calls.filter((call) => call.startsWith('create'))).toHaveLength(2)
})

test('an image of Windlass that the daemon does not get is a loss of the daemon, not an error of the pipeline', async () => {
  const { images, disk, create, options } = openImages(['windlass/cosign:1'])
  const remove = (image: { id: string }): Promise<string> => {
    disk.clear()
    return create(image)
  }
  const cannotPull = {
    reason: 'dind-lost',
    message: expect.stringMatching(/not have the image windlass\/\S+ of Windlass\. .*(pulled|removed)/),
  }
  await expect(images.use({ name: 'windlass/cosign:1' }, options, remove)).rejects.toMatchObject(cannotPull)
  await expect(images.ensure({ name: 'windlass/deploy:1' }, options)).rejects.toMatchObject(cannotPull)
  await expect(images.ensure({ name: 'windlass/none:1' }, options)).rejects.toMatchObject({ reason: 'image-not-found' })
})

test('does not repeat work that fails for another reason', async () => {
  const { images, options } = openImages()
  let tries = 0
  const work = async (): Promise<never> => {
    tries += 1
    throw fault('docker-refused', { message: 'No such image in the text of another error', dockerStatus: 500 })
  }
  await expect(images.use({ name: 'alpine:3' }, options, work)).rejects.toMatchObject({ code: 'docker-refused' })
  expect(tries).toBe(1)
})
