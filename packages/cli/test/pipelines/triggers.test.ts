/** Webhooks, triggers and deliveries from the command line, against a real server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@windlass/kit'
import { DeliveryReceipt } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { githubCall } from '../../../server/test/support/forge-scene.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../../server/test/support/http-scene.ts'
import { githubPull, githubPush } from '../../../server/test/support/payloads/payloads.ts'
import { windlass } from '../windlass.ts'

let scene: HttpScene
let folder: string

beforeAll(async () => {
  scene = await openHttpScene()
  folder = await mkdtemp(join(tmpdir(), 'windlass-triggers-'))
  await scene.admin.pipelines.create({ name: 'demo/app', document: HELLO })
})

afterAll(async () => {
  await scene[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

async function run(...words: string[]): Promise<string> {
  const { code, text } = await windlass(scene, words)
  expect({ words, code, text }).toMatchObject({ code: 0 })
  return text
}

test('creates a webhook and a trigger, and shows what became of a push', async () => {
  const secretFile = join(folder, 'secret')
  await writeFile(secretFile, 'a secret of the webhook\n'.replaceAll(' ', '-'))
  const made = await run('create', 'webhook', 'github', '--forge', 'github', '--secret-file', secretFile, '-o', 'json')
  const webhook = JSON.parse(made) as { url: string; secret: string }
  expect(webhook.secret).toBe('a-secret-of-the-webhook')
  expect(await run('get', 'webhooks')).toMatch(/^NAME +SENDER[^\n]+\ngithub +github/)
  const flags = ['--repo', 'acme/app', '--branch', '/^main$/', '--files', '!docs/**', '-v', 'MODE=ci', '--priority', '-3']
  expect(await run('create', 'trigger', 'demo/app', 'push', ...flags)).toBe('trigger/demo/app#push created\n')
  expect(JSON.parse(await run('get', 'triggers', 'demo/app#push', '-o', 'json'))).toMatchObject({
    repo: 'acme/app',
    events: ['push.heads'],
    branchRegex: '/^main$/',
    modifiedFilesGlob: '!docs/**',
    variables: [{ key: 'MODE', value: 'ci' }],
    priority: -3,
  })
  const { headers, body } = githubCall(webhook, githubPush())
  const answer = await fetch(webhook.url, { method: 'POST', headers, body: body.toString() })
  const { id } = DeliveryReceipt.parse(await answer.json())
  while ((await scene.admin.deliveries.get(id)).status === 'received') await systemClock.sleep(20)
  const described = await run('describe', 'delivery', (await run('get', 'deliveries', '-o', 'name')).trim())
  expect(described).toMatch(/^Builds: +[0-9a-f]{24}$/m)
  expect(described).toMatch(/^demo\/app#push: build [0-9a-f]{24}$/m)
  expect(described).toContain('✔ modified-files')
  expect(await run('get', 'deliveries', '--repo', 'Acme/app', '--status', 'processed')).toMatch(
    new RegExp(`\n${id} +github +push`),
  )
  expect(await run('get', 'builds', '--pipeline', 'demo/app', '-o', 'name')).toMatch(/^build\/[0-9a-f]{24}\n$/)
  expect(await run('replay', 'delivery', id)).toMatch(/^delivery\/[0-9a-f]{24} created\n/)
  await expect.poll(async () => (await scene.admin.builds.list()).items.length).toBe(2)
})

test('creates triggers for images and ended builds, and says where the secret of Docker Hub goes', async () => {
  const hub = await windlass(scene, ['create', 'webhook', 'hub', '--registry', 'dockerhub'])
  expect(hub.text).toContain('?token=SECRET')
  const words = ['create', 'event-trigger', 'demo/app']
  expect(await run(...words, 'base', '--image', 'team/base', '--tag', '1.*', '--webhook', 'hub')).toBe(
    'event-trigger/demo/app#base created\n',
  )
  const after = ['--after', 'demo/lib', '--status', 'success', '--status', 'error', '-b', 'main', '-o', 'json']
  expect(JSON.parse(await run(...words, 'after-lib', ...after))).toMatchObject({
    type: 'build',
    source: 'demo/lib',
    statuses: ['success', 'error'],
    branchRegex: 'main',
  })
  const listed = await run('get', 'event-triggers', '--pipeline', 'demo/app')
  expect(listed).toMatch(/^demo\/app#base +registry +team\/base +1\.\* +yes +api/m)
  expect(listed).toMatch(/^demo\/app#after-lib +build +demo\/lib +success,error/m)
  const file = join(folder, 'hub.json')
  await writeFile(file, JSON.stringify({ push_data: { tag: '1.2' }, repository: { namespace: 'team', name: 'base' } }))
  expect(await run('trigger', 'test', file, '--registry', 'dockerhub')).toMatch(/^demo\/app#base: builds$/m)
  expect(await run('delete', 'event-trigger', 'demo/app#base')).toContain('deleted')
  for (const wrong of [
    [],
    ['--image', 'a', '--chart', 'b'],
    ['--image', 'a', '--status', 'error'],
    ['--after', 'x', '--status', 'bad'],
  ]) {
    const { code } = await windlass(scene, [...words, 'wrong', ...wrong])
    expect([wrong, code]).toEqual([wrong, 2])
  }
})

test('shows a build of a fork that waits for approval, and approves it', async () => {
  await scene.admin.pipelines.create({ name: 'demo/forks', document: HELLO })
  await run('create', 'trigger', 'demo/forks', 'pr', '--repo', 'acme/app', '--event', 'pullrequest', '--allow-forks')
  const webhook = await scene.admin.webhooks.create({ name: 'pulls', forge: 'github' })
  const call = githubCall(webhook, githubPull('opened', { fork: true, association: 'NONE' }), { event: 'pull_request' })
  const answer = await fetch(webhook.url, { method: 'POST', headers: call.headers, body: call.body.toString() })
  const { id } = DeliveryReceipt.parse(await answer.json())
  while ((await scene.admin.deliveries.get(id)).status === 'received') await systemClock.sleep(20)
  const [, build = ''] =
    /^demo\/forks#pr: build ([0-9a-f]{24}) after an approval$/m.exec(await run('describe', 'delivery', id)) ?? []
  expect(await run('get', 'builds', '--status', 'pending-approval', '-o', 'name')).toBe(`build/${build}\n`)
  const described = await run('describe', 'build', build)
  expect(described).toMatch(/^Status: +.*pending-approval \(fork-approval\)$/m)
  expect(described).toContain(`windlass approve ${build}`)
  expect(described).toMatch(/^Approval of the build: waiting since /m)
  expect(await run('approve', build, '-m', 'read it')).toBe(`build/${build} approved\n`)
  expect(await run('describe', 'build', build)).toContain('Approval of the build: approved by admin: read it')
})

test('trigger test shows the rules of each trigger, and its exit code whether the event would build', async () => {
  const write = async (name: string, content: unknown): Promise<string[]> => {
    await writeFile(join(folder, name), JSON.stringify(content))
    return ['trigger', 'test', join(folder, name), '--event', 'push']
  }
  expect(await run(...(await write('main.json', githubPush())))).toMatch(/^demo\/app#push: builds$/m)
  const { code, text } = await windlass(scene, await write('dev.json', githubPush({ ref: 'refs/heads/dev' })))
  expect(code).toBe(1)
  expect(text).toMatch(/^demo\/app#push: branch: "dev" does not match \/\^main\$\/\.$/m)
  expect(text).toMatch(/^ {2}✖ branch +"dev" does not match/m)
  expect((await scene.admin.builds.list({ query: { pipeline: 'demo/app' } })).items).toHaveLength(2)
})

test('the example of a webhook builds the example pipeline', async () => {
  const example = (name: string): string => join(import.meta.dirname, '../../../../examples/webhook', name)
  await run('apply', '-f', example('pipeline.yml'))
  const text = await run('trigger', 'test', example('push.json'), '--event', 'push')
  expect(text).toMatch(/^demo\/webhook#push: builds$/m)
})

test('trigger test asks for the event that is not in the file', async () => {
  await writeFile(join(folder, 'push.json'), JSON.stringify(githubPush()))
  const { code, text } = await windlass(scene, ['trigger', 'test', join(folder, 'push.json')])
  expect(code).toBe(2)
  expect(text).toContain('Add --event, such as push')
})

test('explains wrong words', async () => {
  const refused = async (...words: string[]): Promise<string> => {
    const { code, text } = await windlass(scene, words)
    expect([words, code]).toEqual([words, expect.toBeOneOf([2, 3])])
    return text
  }
  expect(await refused('create', 'webhook', 'x')).toContain('--forge github')
  expect(await refused('create', 'trigger', 'demo/app', 'x')).toContain('--repo OWNER/NAME')
  expect(await refused('create', 'trigger', 'demo/app', 'x', '--repo', 'a/b', '--event', 'pull')).toContain(
    '"pull" does not exist',
  )
  expect(await refused('get', 'deliveries', '--status', 'x')).toContain('received, processed')
  expect(await refused('describe', 'delivery', 'x')).toContain('windlass get deliveries')
  expect(await refused('get', 'triggers', 'demo/app#pusH')).toContain('demo/app#push')
  expect(await refused('delete', 'delivery', 'f'.repeat(24))).toContain('Deliveries cannot be deleted')
})
