import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '@windlass/kit'
import { startRegistry, type Registry } from '../support/registry.ts'
import { image } from '../support/images.ts'
import { deleteImage } from '../support/make-image.ts'
import { runPipeline, testDocker } from '../support/run-pipeline.ts'

let open: Registry
let locked: Registry
const made = new Set<string>()
const login = { username: 'pusher', password: 'push-push-push' }

beforeAll(async () => {
  open = await startRegistry()
  locked = await startRegistry(login)
})

afterAll(async () => {
  await open[Symbol.asyncDispose]()
  await locked[Symbol.asyncDispose]()
  for (const name of made) await deleteImage(name).catch(() => undefined)
})

function registries() {
  return [
    { context: 'open', isDefault: false, domain: open.domain, repositoryPrefix: 'prefix' },
    { context: 'locked', isDefault: false, domain: locked.domain, ...login },
  ]
}

/** Returns a document whose first step writes a Dockerfile to the volume and whose second step builds it. */
function build(dockerfile: readonly string[], fields: string, more = ''): string {
  const name = `windlass-test/${newId(Date.now())}`
  made.add(name)
  return `
version: '1.0'
steps:
  write:
    image: $SHELL
    commands:
      - mkdir -p app && cd app
      - echo content > file
      - printf '%s\\n' ${dockerfile.map((line) => `'${line.replaceAll("'", `'"'"'`)}'`).join(' ')} > Dockerfile
  build:
    type: build
    image_name: ${name}
    working_directory: app
${fields}
${more}
`
}

const FROM = `FROM ${image('shell')}`

test('builds an image that the next step runs without a pull (P043, P062)', async () => {
  const run = await runPipeline(
    build(
      [FROM, 'COPY file /made', 'CMD cat /made'],
      '    tag: one',
      "  use: {image: '${{build}}'}\n  say: {image: $SHELL, commands: ['echo ${{build.imageName}}:${{build.imageTagName}} ${{steps.build.imageId}}']}",
    ),
  )
  expect(run.outcome).toEqual({ status: 'success' })
  expect(run.output('use')).toBe('content\n')
  expect(run.output('say')).toMatch(/^windlass-test\/[0-9a-f]+:one sha256:[0-9a-f]{64}\n$/)
  expect(run.log('build')).toContain('is not pushed')
})

test('accepts a Dockerfile in the step (P044)', async () => {
  const run = await runPipeline(
    build(
      [FROM],
      `    dockerfile:\n      content: |\n        ${FROM}\n        COPY file /inline\n        CMD cat /inline`,
      "  use: {image: '${{build}}'}",
    ),
  )
  expect(run.output('use')).toBe('content\n')
})

test('supports build arguments and a target stage (P045)', async () => {
  const run = await runPipeline(
    build(
      [`${FROM} AS first`, 'ARG WORD', 'RUN echo "$WORD" > /word', 'CMD cat /word', `${FROM}`, 'RUN exit 1'],
      "    target: first\n    build_arguments: ['WORD=${{W}}']",
      "  use: {image: '${{build}}'}",
    ),
    { variables: { W: 'said twice, said "so"' } },
  )
  expect(run.output('use')).toBe('said twice, said "so"\n')
})

test('pushes every tag in lower case by default, only if a registry is named (P046, P047, P060)', async () => {
  const tags = '    tags: [V1, latest]\n    registry: open'
  const lower = await runPipeline(build([FROM], tags), { input: { registries: registries() } })
  expect(lower.outcome).toEqual({ status: 'success' })
  const name = lower.snapshot.steps['build']?.members['imageName'] ?? ''
  expect(await open.tags(`prefix/${name}`)).toEqual(['latest', 'v1'])
  const original = await runPipeline(build([FROM], `${tags}\n    tag_policy: original`), { input: { registries: registries() } })
  expect(await open.tags(`prefix/${original.snapshot.steps['build']?.members['imageName'] ?? ''}`)).toEqual(['V1', 'latest'])
  const kept = await runPipeline(build([FROM], `${tags}\n    disable_push: true`), { input: { registries: registries() } })
  expect(await open.tags(`prefix/${kept.snapshot.steps['build']?.members['imageName'] ?? ''}`)).toEqual([])
})

test('uses the branch as tag without tags (P048)', async () => {
  const run = await runPipeline(build([FROM], ''), { branch: 'Feature/One' })
  expect(run.snapshot.steps['build']?.members['imageTagName']).toBe('feature_one')
})

test('resolves the Dockerfile relative to the working directory (P049)', async () => {
  const run = await runPipeline(`
version: '1.0'
steps:
  write: {image: $SHELL, commands: [mkdir -p a/context, 'echo "${FROM}" > a/Dockerfile.up']}
  build: {type: build, image_name: windlass-test/up, working_directory: a/context, dockerfile: ../Dockerfile.up}
  missing: {type: build, image_name: windlass-test/up, working_directory: a/context, dockerfile: nowhere/Dockerfile}
`)
  made.add('windlass-test/up')
  expect(run.status('build')).toBe('success')
  expect(run.snapshot.steps['missing']).toMatchObject({ status: 'error', reason: 'build-failed' })
  expect(run.snapshot.steps['missing']?.message).toContain('/codefresh/volume/a/context/nowhere/Dockerfile')
})

test('reports the failed command of a Dockerfile', async () => {
  const run = await runPipeline(build([FROM, 'RUN echo before && exit 7'], ''))
  expect(run.snapshot.steps['build']).toMatchObject({ status: 'error', reason: 'build-failed' })
  expect(run.snapshot.steps['build']?.message).toBe(
    '"RUN echo before && exit 7" in the Dockerfile ended with exit code 7. Its last lines:\nbefore',
  )
})

test('pushes a built image with another name and tags and the login of the integration or the step (P063, P064, P065)', async () => {
  const run = await runPipeline(
    build(
      [FROM],
      '',
      `  push: {type: push, candidate: '\${{build}}', registry: locked, image_name: other/name, tags: [a, b]}
  again: {type: push, candidate: '\${{build}}', registry: ${locked.domain}, image_name: inline/name, credentials: {username: pusher, password: '\${{PW}}'}}
  say: {image: $SHELL, commands: ['echo \${{steps.push.imageRepoDigest}} \${{steps.push.registry}}']}`,
    ),
    { input: { registries: registries() }, secrets: { PW: login.password } },
  )
  expect(run.outcome).toEqual({ status: 'success' })
  expect(await locked.tags('other/name')).toEqual(['a', 'b'])
  expect(await locked.tags('inline/name')).toEqual(['latest'])
  expect(run.output('say')).toMatch(new RegExp(`^${locked.domain}/other/name@sha256:[0-9a-f]{64} ${locked.domain}\n$`))
})

test('distinguishes a denied push from an unreachable registry', async () => {
  const text = (registry: string): string =>
    build([FROM], '', `  push: {type: push, candidate: '\${{build}}', registry: ${registry}}`)
  const wrong = registries().map((registry) => ({ ...registry, username: 'pusher', password: 'wrong-password' }))
  const denied = await runPipeline(text('locked'), { input: { registries: wrong } })
  expect(denied.snapshot.steps['push']).toMatchObject({ status: 'error', reason: 'push-failed' })
  const nowhere = await runPipeline(text('no-such-integration'))
  expect(nowhere.snapshot.steps['push']).toMatchObject({ status: 'error', reason: 'integration-missing' })
})

test('pulls a private base image with the registry context', async () => {
  const docker = await testDocker()
  const name = `${locked.domain}/private/base`
  await docker.tagImage(image('shell'), { repository: name, tag: '1' })
  await docker.pushImage({ repository: name, tag: '1' }, { login: { domain: locked.domain, ...login } })
  await promisify(execFile)('docker', ['rmi', `${name}:1`])
  const run = await runPipeline(build([`FROM ${name}:1`], '', `  pull: {image: '${name}:1', commands: [echo pulled]}`), {
    input: { registries: registries() },
  })
  made.add(`${name}:1`)
  expect(run.outcome).toEqual({ status: 'success' })
  expect(run.output('pull')).toBe('pulled\n')
  expect(run.log('pull')).toMatch(/was pulled in [0-9.]+ s \(sha256:/)
})
