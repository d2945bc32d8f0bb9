import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '@windlass/kit'
import type { EngineEvent } from '@windlass/protocol'
import { buildDocument, deleteMadeImages } from '../support/build-document.ts'
import { image } from '../support/images.ts'
import { deleteImage } from '../support/make-image.ts'
import { startRegistry, type Registry } from '../support/registry.ts'
import { runPipeline, type PipelineRun } from '../support/run-pipeline.ts'

const run = promisify(execFile)
const FROM = `FROM ${image('shell')}`
let registry: Registry

beforeAll(async () => {
  registry = await startRegistry()
})

afterAll(async () => {
  await registry[Symbol.asyncDispose]()
  await deleteMadeImages()
})

function registries() {
  return [{ context: 'open', isDefault: true, domain: registry.domain }]
}

type ImageEvent = Extract<EngineEvent, { type: 'image' }>

function imageOf({ events }: PipelineRun, step = 'build'): ImageEvent {
  const found = events.find((event): event is ImageEvent => event.type === 'image' && event.step === step)
  if (found === undefined) throw new Error(`no image of ${step} was reported`)
  return found
}

const SKIPPED = /The build is skipped: an image with the same content exists already/

test('reuses layers of an earlier build and reports hits and misses (P051)', async () => {
  const mark = newId(Date.now())
  const dockerfile = [FROM, `RUN echo ${mark}`, 'COPY file /file', 'RUN cat /file']
  const first = await runPipeline(buildDocument({ dockerfile, commands: ['echo one > file'] }).text)
  expect(imageOf(first).cache).toEqual({ hits: 0, misses: 3 })
  expect(first.log('build')).toContain('Layer cache: 0 of 3 steps of the Dockerfile were cached, 3 ran.')
  const second = await runPipeline(buildDocument({ dockerfile, commands: ['echo two > file'] }).text)
  expect(imageOf(second).cache).toEqual({ hits: 1, misses: 2 })
  expect(second.log('build')).toContain('Layer cache: 1 of 3 steps of the Dockerfile were cached, 2 ran.')
})

test('builds every layer again with no_cache of the step or the run (P050, R251)', async () => {
  const dockerfile = [FROM, `RUN echo ${newId(Date.now())}`, 'RUN echo two']
  await runPipeline(buildDocument({ dockerfile }).text)
  const step = await runPipeline(buildDocument({ dockerfile, fields: '    no_cache: true' }).text)
  expect(imageOf(step).cache).toEqual({ hits: 0, misses: 2 })
  const whole = await runPipeline(buildDocument({ dockerfile, fields: '    no_cache: false' }).text, { input: { noCache: true } })
  expect(imageOf(whole).cache).toEqual({ hits: 0, misses: 2 })
})

test('skips a build of the same content, ignoring times but not contents, modes and arguments (P053)', async () => {
  const dockerfile = [FROM, 'ARG WORD', 'COPY . /all', `LABEL mark=${newId(Date.now())}`]
  const build = (options: { commands?: string[]; fields?: string; more?: string } = {}) =>
    runPipeline(buildDocument({ dockerfile, ...options }).text)
  const first = await build()
  expect(first.log('build')).not.toMatch(SKIPPED)
  const again = await build({ fields: '    tags: [a, b]', more: "  use: {image: '${{build}}', commands: [cat /all/file]}" })
  expect(again.log('build')).toMatch(SKIPPED)
  expect(again.output('use')).toBe('content\n')
  expect(imageOf(again)).toMatchObject({
    imageId: imageOf(first).imageId,
    contentHash: imageOf(first).contentHash,
    tags: ['a', 'b'],
  })
  const { stdout } = await run('docker', ['image', 'inspect', '--format', '{{.Id}}', `${imageOf(again).name}:b`])
  expect(stdout.trim()).toBe(imageOf(first).imageId)
  for (const other of [
    { commands: ['echo other > file'] },
    { commands: ['chmod +x file'] },
    { commands: ['touch more'] },
    { fields: "    build_arguments: ['WORD=x']" },
    { fields: '    no_cf_cache: true' },
    { fields: '    no_cache: true' },
  ])
    expect((await build(other)).log('build'), JSON.stringify(other)).not.toMatch(SKIPPED)
})

test('ignores files that .dockerignore excludes (P053)', async () => {
  const dockerfile = [FROM, 'COPY . /all', `LABEL mark=${newId(Date.now())}`]
  const build = (...commands: string[]) =>
    runPipeline(buildDocument({ dockerfile, commands: ["printf '*.log\\n!keep.log\\n' > .dockerignore", ...commands] }).text)
  await build('echo 1 > a.log', 'echo 1 > keep.log')
  expect((await build('echo 2 > a.log', 'echo 1 > keep.log')).log('build')).toMatch(SKIPPED)
  expect((await build('echo 2 > a.log', 'echo 2 > keep.log')).log('build')).not.toMatch(SKIPPED)
})

test('pulls an image that another disk built, or imports its layers (P052, P053)', async () => {
  const dockerfile = [FROM, `RUN echo ${newId(Date.now())}`, 'COPY file /file']
  const first = await runPipeline(buildDocument({ dockerfile }).text, { input: { registries: registries() } })
  const { imageId, name, tags, digest, contentHash } = imageOf(first)
  expect(imageOf(first).pushed).toBe(true)
  const known = { step: 'build', imageId, name, tags, ...(digest && { digest }), contentHash: contentHash ?? '' }
  const forget = (reference: string): Promise<void> => deleteImage(reference).catch(() => undefined)
  const input = { registries: registries(), knownImages: [known] }

  await forget(imageId)
  const skipped = await runPipeline(buildDocument({ dockerfile, fields: '    tag: again' }).text, { input })
  expect(skipped.log('build')).toMatch(SKIPPED)
  expect(skipped.log('build')).toContain(`${name}@${digest}`)
  expect(await registry.tags(imageOf(skipped).name.replace(`${registry.domain}/`, ''))).toEqual(['again'])

  await forget(imageId)
  const changed = { dockerfile, commands: ['echo changed > file'] }
  const offered = await runPipeline(buildDocument(changed).text, { input })
  expect(offered.log('build')).toContain(`--cache-from ${name}@${digest}`)
  expect(offered.status('build')).toBe('success')

  await forget(imageOf(offered).imageId)
  for (const options of [{ fields: '    no_cf_cache: true' }, { input: { noCfCache: true } }]) {
    const without = await runPipeline(buildDocument({ ...changed, ...('fields' in options && options) }).text, {
      input: { ...input, ...('input' in options && options.input) },
    })
    expect(without.log('build')).not.toContain('--cache-from')
    expect(without.log('build')).not.toMatch(SKIPPED)
  }

  await forget(imageId)
  const gone = { ...known, digest: `sha256:${'0'.repeat(64)}` }
  const rebuilt = await runPipeline(buildDocument({ dockerfile }).text, { input: { ...input, knownImages: [gone] } })
  expect(rebuilt.log('build')).toContain('cannot be pulled. Building it again.')
  expect(rebuilt.status('build')).toBe('success')
})

test('keeps a cache mount of BuildKit between builds (P055)', async () => {
  const id = newId(Date.now())
  const count = `RUN --mount=type=cache,id=${id},target=/c echo x >> /c/n; wc -l < /c/n > /count`
  const build = (mark: string) =>
    runPipeline(
      buildDocument({
        dockerfile: [FROM, `ENV MARK=${mark}`, count, 'CMD cat /count'],
        fields: '    buildkit: true',
        more: "  use: {image: '${{build}}'}",
      }).text,
    )
  expect((await build('one')).output('use').trim()).toBe('1')
  expect((await build('two')).output('use').trim()).toBe('2')
})

test('logs whether the image of a step was on the disk (P190)', async () => {
  const name = `${registry.domain}/hit/miss:1`
  await run('docker', ['tag', image('shell'), name])
  await run('docker', ['push', '--quiet', name])
  await run('docker', ['rmi', name])
  const text = `version: '1.0'\nsteps:\n  use: {image: '${name}', commands: [echo used]}\n`
  expect((await runPipeline(text)).log('use')).toMatch(/Image .*hit\/miss:1 was pulled in [0-9.]+ s \(sha256:/)
  expect((await runPipeline(text)).log('use')).toMatch(/Image .*hit\/miss:1 is on the disk \([0-9a-f]{12}\)/)
  await run('docker', ['rmi', name])
})
