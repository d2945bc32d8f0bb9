import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { defined } from '@windlass/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildDocument, deleteMadeImages } from '../support/build-document.ts'
import { image } from '../support/images.ts'
import { startRegistry, type Registry } from '../support/registry.ts'
import { runPipeline, testDocker } from '../support/run-pipeline.ts'

const run = promisify(execFile)
const login = { username: 'pusher', password: 'push-push-push' }
const FROM = `FROM ${image('shell')}`
let open: Registry
let locked: Registry

beforeAll(async () => {
  open = await startRegistry()
  locked = await startRegistry(login)
})

afterAll(async () => {
  await open[Symbol.asyncDispose]()
  await locked[Symbol.asyncDispose]()
  await deleteMadeImages()
})

const integrations = () => [
  { context: 'open', isDefault: true, domain: open.domain },
  { context: 'wrong', isDefault: false, domain: locked.domain, username: 'pusher', password: 'not-the-password' },
  { context: 'right', isDefault: false, domain: locked.domain, ...login },
]

test('pushes by the three account modes and disable_push on a real registry (P060)', async () => {
  const registries = integrations()
  const pushed = async (fields: string, autoPush?: boolean): Promise<readonly string[]> => {
    const { text, name } = buildDocument({ dockerfile: [FROM, 'COPY file /file'], fields })
    const built = await runPipeline(text, { input: { registries, ...defined({ autoPush }) } })
    expect(built.status('build')).toBe('success')
    return open.tags(name)
  }
  expect(await pushed('    tag: a', true)).toEqual(['a'])
  expect(await pushed('    tag: a', false)).toEqual([])
  expect(await pushed('    tag: a\n    disable_push: false', false)).toEqual(['a'])
  expect(await pushed('    tag: a\n    disable_push: true', true)).toEqual([])
  expect(await pushed('    tag: a\n    registry: open')).toEqual(['a'])
})

test('pulls with the named one of two integrations of a domain (P184)', async () => {
  const docker = await testDocker()
  const base = { repository: `${locked.domain}/private/base`, tag: '1' }
  await docker.tagImage(image('shell'), base)
  await docker.pushImage(base, { login: { domain: locked.domain, ...login } })
  const forget = () => run('docker', ['rmi', `${base.repository}:1`])
  await forget()
  const input = { registries: integrations() }
  const build = (fields: string) =>
    runPipeline(
      buildDocument({
        dockerfile: [`FROM ${base.repository}:1`, 'COPY file /file'],
        fields: `    disable_push: true\n    no_cf_cache: true\n${fields}`,
      }).text,
      { input },
    )
  const primary = await build('')
  expect(primary.snapshot.steps['build']).toMatchObject({ status: 'error', reason: 'build-failed' })
  expect(primary.log('build')).toContain('name its integration in `registry_contexts`')
  expect((await build('    registry_contexts: [right]')).status('build')).toBe('success')
  expect((await build('    registry_contexts: [right, wrong]')).snapshot.steps['build']?.message).toContain(
    `two integrations of ${locked.domain}`,
  )
  const marked = integrations().map((one) => ({ ...one, ...(one.context === 'right' && { isPrimary: true }) }))
  const { text } = buildDocument({
    dockerfile: [`FROM ${base.repository}:1`, 'COPY file /other'],
    fields: '    disable_push: true',
  })
  expect((await runPipeline(text, { input: { registries: marked } })).status('build')).toBe('success')
  const step = (context: string) =>
    runPipeline(
      `version: '1.0'\nsteps:\n  use: {image: '${base.repository}:1', registry_context: ${context}, commands: [echo used]}\n`,
      { input },
    )
  expect((await step('wrong')).snapshot.steps['use']).toMatchObject({ status: 'error', reason: 'image-not-found' })
  expect((await step('right')).output('use')).toBe('used\n')
  await forget()
})

test('pulls a candidate reference, pushes it with other tags and reports the image (P063, P065)', async () => {
  const source = `${open.domain}/source/app:1`
  await run('docker', ['tag', image('shell'), source])
  await run('docker', ['push', '--quiet', source])
  await run('docker', ['rmi', source])
  const text = `
version: '1.0'
steps:
  push: {type: push, candidate: '${source}', registry: right, tags: [x, y]}
  say: {image: $SHELL, commands: ['echo \${{steps.push.imageRepoDigest}}']}
`
  const pushed = await runPipeline(text, { input: { registries: integrations() } })
  expect(pushed.outcome).toEqual({ status: 'success' })
  expect(await locked.tags('source/app')).toEqual(['x', 'y'])
  const event = pushed.events.find(({ type }) => type === 'image')
  expect(event).toMatchObject({ step: 'push', name: `${locked.domain}/source/app`, tags: ['x', 'y'], pushed: true })
  expect(pushed.output('say')).toBe(`${locked.domain}/source/app@${event?.type === 'image' ? event.digest : ''}\n`)
  await run('docker', ['rmi', source])
})

test('adds tags to an image at a registry without transferring layers', async () => {
  const source = `${locked.domain}/tagged/app:1`
  const docker = await testDocker()
  await docker.tagImage(image('shell'), { repository: `${locked.domain}/tagged/app`, tag: '1' })
  const digest = await docker.pushImage(
    { repository: `${locked.domain}/tagged/app`, tag: '1' },
    { login: { domain: locked.domain, ...login } },
  )
  await run('docker', ['rmi', source])
  const tag = (fields: string) => `  tag: {type: push-tag, tags: [stable, '2'], ${fields}}\n`
  const document = (fields: string) =>
    `version: '1.0'\nsteps:\n${tag(fields)}  say: {image: $SHELL, commands: ['echo \${{steps.tag.imageRepoDigest}}']}\n`
  const input = { registries: integrations() }
  const tagged = await runPipeline(document(`image_name: 'tagged/app:1', registry: right`), { input })
  expect(tagged.outcome).toEqual({ status: 'success' })
  expect(await locked.tags('tagged/app')).toEqual(['1', '2', 'stable'])
  expect(tagged.output('say')).toBe(`${locked.domain}/tagged/app@${digest}\n`)
  expect(await docker.inspectImage(source)).toBeUndefined()
  const missing = await runPipeline(document(`image_name: 'tagged/app:none', registry: right`), { input })
  expect(missing.snapshot.steps['tag']).toMatchObject({ status: 'error', reason: 'image-not-found' })
  const denied = await runPipeline(document(`image_name: '${source}', registry: wrong`), { input })
  expect(denied.snapshot.steps['tag']).toMatchObject({ status: 'error', reason: 'push-failed' })
})

test('fails a step with an AWS role before any work, because there is no login', async () => {
  const text = `
version: '1.0'
steps:
  push: {type: push, candidate: $SHELL, image_name: a/b, provider: ecr, region: eu-west-1, role_arn: 'arn:aws:iam::123456789012:role/x', registry: open}
`
  const pushed = await runPipeline(text, { input: { registries: integrations() } })
  expect(pushed.snapshot.steps['push']).toMatchObject({ status: 'error', reason: 'integration-missing' })
  expect(pushed.snapshot.steps['push']?.message).toContain('role_arn')
})

test('rejects squash without experimental features and with BuildKit', async () => {
  const build = (fields: string) => runPipeline(buildDocument({ dockerfile: [FROM], fields: `    squash: true\n${fields}` }).text)
  const plain = await build('')
  expect(plain.snapshot.steps['build']).toMatchObject({ status: 'error', reason: 'invalid-step' })
  expect(plain.snapshot.steps['build']?.message).toContain('experimental features')
  expect((await build('    buildkit: true')).snapshot.steps['build']?.message).toContain(
    '"squash" and "buildkit" cannot be combined',
  )
})

test('pushes one tag from two builds at the same time', async () => {
  const name = `race/${Date.now()}`
  const push = (content: string) =>
    runPipeline(
      buildDocument({
        name,
        dockerfile: [FROM, 'COPY file /file'],
        commands: [`echo ${content} > file`],
        fields: '    tags: [one, two, three]\n    registry: open',
      }).text,
      { input: { registries: integrations() } },
    )
  const both = await Promise.all([push('left'), push('right')])
  expect(both.map(({ outcome }) => outcome.status)).toEqual(['success', 'success'])
  expect(await open.tags(name)).toEqual(['one', 'three', 'two'])
})

test('stores metadata and annotations of a build step on its image (P136)', async () => {
  const { text } = buildDocument({
    dockerfile: [FROM, 'COPY file /file'],
    fields: `    disable_push: true
    metadata: {set: [{CF_QUALITY: true}, {coverage: '85%'}]}
    annotations: {set: [{entity_type: image, annotations: [{team: red}]}]}`,
  })
  const built = await runPipeline(text)
  expect(built.outcome).toEqual({ status: 'success' })
  const image = built.events.find(({ type }) => type === 'image')
  const annotations = built.events.filter((event) => event.type === 'annotated')
  expect(image?.type === 'image' && image.imageId).toMatch(/^sha256:/)
  expect(annotations).toEqual([
    expect.objectContaining({ entity: 'image', kind: 'annotation', set: { team: 'red' } }),
    expect.objectContaining({ entity: 'image', kind: 'metadata', set: { CF_QUALITY: true, coverage: '85%' } }),
  ])
  for (const event of annotations)
    if (event.type === 'annotated') expect(event.id).toBe(image?.type === 'image' ? image.imageId : '')
})
