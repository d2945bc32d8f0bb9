import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '@windlass/kit'
import { z } from 'zod'
import { listVolumes, removeVolumes } from '../../../../e2e/support/leftovers.ts'
import { buildDocument, deleteMadeImages } from '../support/build-document.ts'
import { image } from '../support/images.ts'
import { startRegistry, type Registry } from '../support/registry.ts'
import { runPipeline, testDocker } from '../support/run-pipeline.ts'

const run = promisify(execFile)
let registry: Registry
let base: string

const BUILDER_VOLUME = 'windlass-buildkit'
let hadBuilder = true

beforeAll(async () => {
  hadBuilder = (await listVolumes(BUILDER_VOLUME)).includes(BUILDER_VOLUME)
  registry = await startRegistry()
  base = `${registry.domain}/base/shell:1`
  await run('docker', ['tag', image('shell'), base])
  await run('docker', ['push', '--quiet', base])
  await run('docker', ['rmi', base])
})

afterAll(async () => {
  await registry[Symbol.asyncDispose]()
  await deleteMadeImages()
  // The state of the builder is a volume of the machine. An existing one is kept.
  if (!hadBuilder) await removeVolumes([BUILDER_VOLUME])
})

const input = () => ({ registries: [{ context: 'open', isDefault: true, domain: registry.domain }] })
const Index = z.looseObject({
  mediaType: z.string(),
  manifests: z.array(z.looseObject({ platform: z.looseObject({ os: z.string(), architecture: z.string() }) })),
})

async function platformsAt(repository: string, tag: string): Promise<string[]> {
  const answer = await fetch(`http://${registry.domain}/v2/${repository}/manifests/${tag}`, {
    headers: { accept: 'application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json' },
  })
  return Index.parse(await answer.json()).manifests.map(({ platform }) => `${platform.os}/${platform.architecture}`)
}

test('builds for two platforms with buildx and pushes one manifest list for later steps (P056)', async () => {
  const { text, name } = buildDocument({
    dockerfile: ['FROM scratch', 'ARG TARGETARCH', 'COPY file /from-$TARGETARCH'],
    commands: [`echo ${newId(Date.now())} > file`],
    fields: '    tags: [one, two]\n    buildx: true\n    platform: linux/amd64,linux/arm64',
    more: "  say: {image: $SHELL, commands: ['echo ${{steps.build.imageId}} ${{steps.build.imageRepoDigest}}']}",
  })
  const built = await runPipeline(text, { input: input() })
  expect(built.log('build')).toContain('BuildKit runs in a separate container')
  expect(built.outcome).toEqual({ status: 'success' })
  expect(await registry.tags(name)).toEqual(['one', 'two'])
  expect((await platformsAt(name, 'two')).toSorted()).toEqual(['linux/amd64', 'linux/arm64'])
  expect(built.output('say')).toMatch(
    new RegExp(`^${registry.domain}/${name}@sha256:[0-9a-f]{64} ${registry.domain}/${name}@sha256:`),
  )
  expect(built.events.find(({ type }) => type === 'image')).toMatchObject({ pushed: true, cache: { hits: 0, misses: 2 } })
  const docker = await testDocker()
  expect(await docker.listContainers([`windlass.io/build=${built.buildId}`])).toEqual([])
})

/** Returns a program for linux/arm64 of 170 bytes that prints a line: an ELF header, one segment, eight instructions, the text. */
function armProgram(line: string): string {
  const text = Buffer.from(`${line}\n`)
  const code = [
    0xd2800020,
    0x100000e1,
    0xd2800002 | (text.length << 5),
    0xd2800808,
    0xd4000001,
    0xd2800000,
    0xd2800ba8,
    0xd4000001,
  ]
  const start = 120
  const bytes = Buffer.alloc(start + code.length * 4)
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1])
  bytes.writeUInt16LE(2, 16)
  bytes.writeUInt16LE(183, 18)
  bytes.writeUInt32LE(1, 20)
  bytes.writeBigUInt64LE(0x400000n + BigInt(start), 24)
  bytes.writeBigUInt64LE(64n, 32)
  for (const [offset, value] of [
    [52, 64],
    [54, 56],
    [56, 1],
  ] as const)
    bytes.writeUInt16LE(value, offset)
  bytes.writeUInt32LE(1, 64)
  bytes.writeUInt32LE(5, 68)
  bytes.writeBigUInt64LE(0x400000n, 80)
  bytes.writeBigUInt64LE(0x400000n, 88)
  const size = BigInt(start + code.length * 4 + text.length)
  bytes.writeBigUInt64LE(size, 96)
  bytes.writeBigUInt64LE(size, 104)
  bytes.writeBigUInt64LE(0x1000n, 112)
  for (const [index, word] of code.entries()) bytes.writeUInt32LE(word >>> 0, start + index * 4)
  return Buffer.concat([bytes, text]).toString('base64')
}

test('runs commands of another platform in an emulator and keeps single-platform images for later steps (P056)', async () => {
  const line = `said by an arm64 program ${newId(Date.now())}`
  const program = armProgram(line)
  const { text, name } = buildDocument({
    dockerfile: [
      'FROM scratch',
      `LABEL mark=${newId(Date.now())}`,
      'COPY program /program',
      'RUN ["/program"]',
      'CMD ["/program"]',
    ],
    commands: [`echo ${program} | base64 -d > program && chmod +x program`],
    fields: '    buildx: true\n    platform: linux/arm64',
    more: "  use: {image: '${{build}}'}",
  })
  const built = await runPipeline(text, { input: input() })
  expect(built.log('build')).toContain('Emulators for linux/arm64 are registered')
  expect(built.output('build')).toContain(line)
  expect(built.output('use')).toBe(`${line}\n`)
  expect(await registry.tags(name)).toEqual(['latest'])
})

test('exports the cache of a custom builder to the registry and imports it from there (P057)', async () => {
  const cache = `${registry.domain}/cache/${newId(Date.now())}`
  const build = (...commands: string[]) =>
    runPipeline(
      buildDocument({
        dockerfile: [`FROM ${base}`, `RUN echo ${cache}`, 'COPY file /file'],
        commands,
        fields: `    buildx:
      builder: {driver: docker-container, driver_opts: 'network=host,env.NAME=value'}
    cache_to: ['type=registry,ref=${cache}:all,mode=max']
    cache_from: ['type=registry,ref=${cache}:all', 'type=registry,ref=${cache}:none']`,
      }).text,
      { input: input() },
    )
  const first = await build()
  expect(first.status('build')).toBe('success')
  expect(await registry.tags(cache.replace(`${registry.domain}/`, ''))).toEqual(['all'])
  expect((await build('echo other > file')).log('build')).toContain('1 of 2 steps of the Dockerfile were cached, 1 ran')
})

test('starts BuildKit for cache_to a registry without buildx (P057)', async () => {
  const cache = `cache/${newId(Date.now())}`
  const built = await runPipeline(
    buildDocument({
      dockerfile: [`FROM ${base}`, 'COPY file /file', 'CMD cat /file'],
      fields: `    buildkit: true\n    cache_to: ['type=registry,ref=${registry.domain}/${cache}:x']`,
      more: "  use: {image: '${{build}}'}",
    }).text,
    { input: input() },
  )
  expect(built.output('use')).toBe('content\n')
  expect(await registry.tags(cache)).toEqual(['x'])
})

test('rejects a QEMU image that the runtime does not trust (P059)', async () => {
  const { text } = buildDocument({
    dockerfile: ['FROM scratch', 'COPY file /file'],
    fields: '    buildx:\n      qemu: {image: evil/binfmt:latest}\n    platform: linux/arm64',
  })
  const built = await runPipeline(text, { input: { ...input(), trustedQemuImages: ['tonistiigi/binfmt'] } })
  expect(built.snapshot.steps['build']).toMatchObject({ status: 'error', reason: 'invalid-step' })
  expect(built.snapshot.steps['build']?.message).toContain('evil/binfmt:latest is not trusted')
})

test('rejects an unpushed multi-platform image and an unknown builder', async () => {
  const dockerfile = ['FROM scratch', 'COPY file /file']
  const nowhere = await runPipeline(
    buildDocument({ dockerfile, fields: '    buildx: true\n    platform: linux/amd64,linux/arm64' }).text,
  )
  expect(nowhere.snapshot.steps['build']?.message).toContain('must be pushed')
  const driver = await runPipeline(buildDocument({ dockerfile, fields: '    buildx: {builder: {driver: kubernetes}}' }).text, {
    input: input(),
  })
  expect(driver.snapshot.steps['build']?.message).toContain('The builder driver "kubernetes" is not supported')
})
