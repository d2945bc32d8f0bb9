/** `make release` as users meet it: what it makes is installed, verified, loaded, pushed and rendered. */
import { appendFile, copyFile, cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundle } from '../../scripts/bundle.ts'
import { optionsOf } from '../../scripts/release/images.ts'
import { openBlobs } from '../../scripts/release/oci/blobs.ts'
import { writeImage } from '../../scripts/release/oci/image-archive.ts'
import { readSavedImages } from '../../scripts/release/oci/saved-images.ts'
import { openHelm, type Helm } from '../support/helm.ts'
import { ensureImages } from '../support/images.ts'
import { removeImages } from '../support/leftovers.ts'
import { runProgram } from '../support/process.ts'
import { startRegistry } from '../support/registry.ts'
import { openBareMachine, type BareMachine } from './bare-machine.ts'
import { LEVEL, makeKey, makeRelease, type Release } from './releases.ts'

const root = join(import.meta.dirname, '../..')
await ensureImages('tools', 'dind', 'windlass')

/** Saves and rewrites a gigabyte of images. */
const RELEASE_MS = 600_000

let folder: string
let key: string
let release: Release
let machine: BareMachine
let helm: Helm

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'windlass-release-'))
  key = await makeKey(folder)
  release = await makeRelease(join(folder, 'release'), key)
  machine = await openBareMachine()
  helm = await openHelm()
}, RELEASE_MS)

afterAll(async () => {
  await removeImages((repository) => repository.startsWith('windlass.test/'))
  await machine?.[Symbol.asyncDispose]()
  await helm?.close()
  await rm(folder, { recursive: true, force: true })
})

const version = (): string => release.manifest.version
const sums = (): Promise<string> => runProgram('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: release.folder })
const verify = (): Promise<string> =>
  runProgram(
    'openssl',
    ['pkeyutl', '-verify', '-pubin', '-inkey', 'release.pub', '-rawin', '-in', 'SHA256SUMS', '-sigfile', 'SHA256SUMS.sig'],
    { cwd: release.folder },
  )

test('a second run writes the same bytes (R216)', async () => {
  const again = await makeRelease(join(folder, 'again'), key)
  await runProgram('diff', ['--recursive', '--brief', release.folder, again.folder])
  await rm(again.folder, { recursive: true })
})

test('an image that is built again from the same sources has the same digest', async () => {
  const context = join(folder, 'context')
  await bundle(join(context, 'dist'))
  await copyFile(join(root, 'package.json'), join(context, 'package.json'))
  for (const name of ['Dockerfile', 'collect-git']) await cp(join(root, 'images/windlass', name), join(context, name))
  const tag = 'windlass.test/rebuilt:1'
  await runProgram('docker', ['build', '--no-cache', '--build-arg', 'BASE=windlass.local/node:24', '--tag', tag, context])
  const saved = join(folder, 'rebuilt.tar')
  await runProgram('docker', ['save', '--output', saved, tag])
  const [image] = await readSavedImages(saved)
  if (image === undefined) throw new Error('docker save wrote no image.')
  const { revision, createdAt } = release.manifest
  const facts = { version: version(), revision, createdAt: new Date(createdAt), level: LEVEL }
  const { manifest } = await writeImage(image, openBlobs(join(folder, 'blobs'), LEVEL), optionsOf('windlass', facts))
  expect(manifest.digest).toBe(release.image('windlass').digest)
  await rm(saved)
})

test('every file has a checksum, and the key signs the list of them (R216)', async () => {
  const listed = (await sums()).split('\n')
  const charts = ['windlass', 'windlass-runtime', 'windlass-gitlab-runner', 'windlass-gitops-runtime'].map(
    (name) => `charts/${name}`,
  )
  const names = [...charts, 'windlass-cli'].map((name) => `${name}-${version()}.tgz: OK`)
  const others = ['completions/windlass.bash: OK', 'images.json: OK', 'man/windlass.1: OK', `sbom/dind-${version()}.cdx.json: OK`]
  const archives = release.manifest.images.map(({ archive }) => `${archive}: OK`)
  expect(listed).toEqual(expect.arrayContaining([...names, ...others, ...archives]))
  expect(await verify()).toContain('Signature Verified Successfully')
  const list = join(release.folder, 'SHA256SUMS')
  await copyFile(list, join(folder, 'kept'))
  await appendFile(list, '# changed\n')
  await expect(verify()).rejects.toThrow()
  await copyFile(join(folder, 'kept'), list)
})

test('the command of the release says that it matches the release', async () => {
  await machine.install(join(release.folder, `windlass-cli-${version()}.tgz`))
  const compared = await machine.run('windlass', ['version', '--release', join(release.folder, 'images.json'), '-o', 'json'])
  expect(JSON.parse(compared.text)).toMatchObject({ version: version(), matches: true })
})

test('Docker loads an archive, which has the image ID and version of the release', async () => {
  const { reference, archive, imageId } = release.image('windlass')
  const kept = 'windlass.test/kept:1'
  await runProgram('docker', ['tag', reference, kept])
  try {
    await runProgram('docker', ['load', '--input', join(release.folder, archive)])
  } finally {
    // Tests that run at the same time use the image of the clone.
    await runProgram('docker', ['tag', reference, 'windlass.test/loaded:1'])
    await runProgram('docker', ['tag', kept, reference])
  }
  const format = '{{.Id}} {{index .Config.Labels "org.opencontainers.image.version"}}'
  const found = await runProgram('docker', ['image', 'inspect', '--format', format, 'windlass.test/loaded:1'])
  expect(found).toBe(`${imageId} ${version()}`)
  const output = await runProgram('docker', ['run', '--rm', '--network', 'none', 'windlass.test/loaded:1', 'windlass', 'version'])
  expect(output).toContain(`windlass ${version()} `)
})

test('a registry knows a copied image by the digest of the release', async () => {
  await using registry = await startRegistry()
  const { archive, digest } = release.image('windlass')
  const target = `${registry.domain}/windlass/windlass`
  const source = `oci-archive:${join(release.folder, archive)}`
  await runProgram('skopeo', ['copy', '--preserve-digests', '--dest-tls-verify=false', source, `docker://${target}:${version()}`])
  await runProgram('docker', ['pull', '--quiet', `${target}@${digest}`])
  const output = await runProgram('docker', ['run', '--rm', '--network', 'none', `${target}@${digest}`, 'windlass', 'version'])
  expect(output).toContain(`windlass ${version()} `)
})

test('the packed charts name the images by the digests of the release', async () => {
  const render = (chart: string, ...words: string[]): Promise<string> =>
    helm.run('template', 'test', join(release.folder, `charts/${chart}-${version()}.tgz`), ...words)
  const server = await render('windlass')
  const program = `windlass/windlass@${release.image('windlass').digest}`
  expect(server).toContain(`image: ${program}\n`)
  const words = ['codefreshHost=https://ci.test', 'codefreshToken=k', 'context=c'].flatMap((word) => ['--set', `global.${word}`])
  const runner = await render('windlass-runtime', ...words, '--set', 'global.imageRegistry=registry.test/ci')
  expect(runner).toContain(`registry.test/ci/${program}`)
  expect(runner).toContain(`registry.test/ci/windlass/dind@${release.image('dind').digest}`)
  const tags = [...`${server}\n${runner}`.matchAll(/windlass\/(?:windlass|dind):\S+/g)].map(([reference]) => reference)
  expect(tags).toEqual([])
})
