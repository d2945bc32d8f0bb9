/** `connect git` against a real server and the webhook APIs of forges. Gitea itself is in e2e/forge. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { githubCall } from '../../../server/test/support/forge-scene.ts'
import { openHttpScene, type HttpScene } from '../../../server/test/support/http-scene.ts'
import { githubPush } from '../../../server/test/support/payloads/payloads.ts'
import { FAKE_APIS, openFakeForge, type FakeForge, type FakeHook } from '../fakes/fake-forge.ts'
import { windlass } from '../windlass.ts'

const TOKEN = 'token-of-the-forge-1234'

let scene: HttpScene
let folder: string
let tokenFile: string

beforeAll(async () => {
  scene = await openHttpScene()
  folder = await mkdtemp(join(tmpdir(), 'windlass-connect-'))
  tokenFile = join(folder, 'token')
  await writeFile(tokenFile, `${TOKEN}\n`)
})

afterAll(async () => {
  await scene[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(async () => {
  for (const { name } of (await scene.admin.webhooks.list()).items) await scene.admin.webhooks.delete(name)
})

async function connect(forge: FakeForge, kind: string, ...words: string[]): Promise<string> {
  const { code, text } = await windlass(scene, [
    'connect',
    'git',
    kind,
    '--forge',
    kind,
    '--url',
    forge.url,
    '--token-file',
    tokenFile,
    ...words,
  ])
  expect({ code, text }).toMatchObject({ code: 0 })
  expect(text).not.toContain(TOKEN)
  return text
}

/** Calls the webhook as the forge would. Returns the status. */
async function call({ url, secret = '' }: FakeHook, kind: string): Promise<number> {
  if (kind === 'gitlab') {
    const headers = { 'content-type': 'application/json', 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': secret }
    return (await fetch(url, { method: 'POST', headers, body: '{}' })).status
  }
  const { headers, body } = githubCall({ secret }, githubPush())
  const signature = headers['x-hub-signature-256'] ?? ''
  const own = kind === 'bitbucket' ? { 'x-event-key': 'repo:push', 'x-hub-signature': signature } : {}
  return (await fetch(url, { method: 'POST', headers: { ...headers, ...own }, body: body.toString() })).status
}

const AUTHORIZATION = { github: `Bearer ${TOKEN}`, gitlab: `Bearer ${TOKEN}`, bitbucket: `Bearer ${TOKEN}` } as const
const GIT_USER = { github: 'x-access-token', gitlab: 'oauth2', bitbucket: 'x-token-auth' } as const
const PUSH_EVENT = { github: 'push', gitlab: 'push_events', bitbucket: 'repo:push' } as const
const kinds = Object.keys(FAKE_APIS) as (keyof typeof FAKE_APIS)[]

test.each(kinds)('connects a repository of %s, and a second run changes nothing that is right', async (kind) => {
  await using forge = await openFakeForge(kind)
  forge.authorization = AUTHORIZATION[kind]
  forge.hooks.push({ id: '90', url: 'https://other.test/hook', secret: 'x', active: true, events: [] })
  expect(await connect(forge, kind, '--repo', 'acme/app')).toMatch(
    new RegExp(
      `^context/${kind} created\\nwebhook/${kind}/acme/app created\\nwebhook of acme/app at 127\\.0\\.0\\.1:\\d+ created\\n$`,
    ),
  )
  const [other, hook] = forge.hooks
  if (hook === undefined) throw new Error('the forge has no webhook')
  expect(hook).toMatchObject({ active: true, events: expect.arrayContaining([PUSH_EVENT[kind]]) })
  expect(await call(hook, kind)).toBe(202)
  expect(await scene.admin.webhooks.get(`${kind}/acme/app`)).toMatchObject({
    forge: kind,
    context: kind,
    repo: 'acme/app',
    url: hook.url,
  })
  expect(await scene.admin.contexts.get(kind)).toMatchObject({
    type: 'git',
    data: { url: forge.url, username: GIT_USER[kind], password: '*****' },
  })
  const before = { ...hook }
  hook.active = false
  hook.events = []
  expect(await connect(forge, kind, '--repo', 'acme/app')).toMatch(
    new RegExp(`^context/${kind} updated\\nwebhook/${kind}/acme/app unchanged\\nwebhook of acme/app at \\S+ updated\\n$`),
  )
  expect(forge.hooks).toEqual([other, before])
  expect(await call(hook, kind)).toBe(202)
})

test.each(kinds)('a webhook that %s lost, or whose secret is to change, is created anew on both sides', async (kind) => {
  await using forge = await openFakeForge(kind)
  forge.authorization = AUTHORIZATION[kind]
  await connect(forge, kind, '--repo', 'acme/app')
  const [first] = forge.hooks.splice(0)
  await connect(forge, kind, '--repo', 'acme/app')
  const [second] = forge.hooks
  expect(second?.url).not.toBe(first?.url)
  expect(await call(first as FakeHook, kind)).toBe(404)
  const text = await connect(forge, kind, '--repo', 'acme/app', '--new-secret')
  expect(text).toMatch(/webhook\/\w+\/acme\/app replaced\nwebhook of acme\/app at \S+ updated\n$/)
  expect(forge.hooks).toHaveLength(1)
  expect(forge.hooks[0]?.secret).not.toBe(second?.secret)
  expect(await call(forge.hooks[0] as FakeHook, kind)).toBe(202)
})

test('a webhook of the forge whose webhook on the server was deleted is replaced', async () => {
  await using forge = await openFakeForge('github')
  forge.authorization = AUTHORIZATION.github
  await connect(forge, 'github', '--repo', 'acme/app')
  await scene.admin.webhooks.delete('github/acme/app')
  await connect(forge, 'github', '--repo', 'acme/app')
  expect(forge.hooks).toHaveLength(1)
  expect(await call(forge.hooks[0] as FakeHook, 'github')).toBe(202)
})

test('a token that the forge refuses, and a repository that it does not have, change nothing', async () => {
  await using forge = await openFakeForge('github')
  const words = ['connect', 'git', 'refused', '--forge', 'github', '--url', forge.url, '--token-file', tokenFile, '--repo']
  const wrong = await windlass(scene, [...words, 'acme/app'])
  expect(wrong.code).toBe(1)
  expect(wrong.text).toMatch(
    /^error: The forge at 127\.0\.0\.1:\d+ refused the token\.\nhint: Check the token and its expiry\.\n$/,
  )
  forge.authorization = AUTHORIZATION.github
  const missing = await windlass(scene, [...words, 'acme/shop'])
  expect(missing.text).toMatch(
    /^error: The forge at \S+ answered 404 to \/repos\/acme\/shop\/hooks: Not Found\.\nhint: Check the name/,
  )
  await forge[Symbol.asyncDispose]()
  const gone = await windlass(scene, [...words, 'acme/app'])
  expect(gone.code).toBe(5)
  expect(gone.text).toMatch(/^error: The forge at \S+ cannot be reached: /)
  await expect(scene.admin.contexts.get('refused')).rejects.toMatchObject({ code: 'not-found' })
  expect((await scene.admin.webhooks.list()).items).toEqual([])
})

test('without a repository it prints the address and the secret for the forge, once', async () => {
  await using forge = await openFakeForge('bitbucket')
  const text = await connect(forge, 'bitbucket', '--username', 'robot')
  const { url } = await scene.admin.webhooks.get('bitbucket')
  const [, secret = ''] = /^webhook\/bitbucket created\n(\S+)\n/m.exec(text) ?? []
  expect(text).toContain(`Enter this address at the forge: ${url}`)
  expect(await call({ id: '', url, secret, active: true, events: [] }, 'bitbucket')).toBe(202)
  const again = JSON.parse(await connect(forge, 'bitbucket', '-o', 'json')) as unknown
  expect(again).toEqual({
    context: { name: 'bitbucket', state: 'updated' },
    webhooks: [{ name: 'bitbucket', url, state: 'unchanged' }],
  })
})

test('explains wrong words', async () => {
  const refused = async (...words: string[]): Promise<string> => {
    const { code, text } = await windlass(scene, ['connect', 'git', 'x', '--token-file', tokenFile, ...words])
    expect([words, code]).toEqual([words, 2])
    return text
  }
  expect(await refused()).toContain('--forge github')
  expect(await refused('--forge', 'gitea')).toContain('--url https://HOST')
  expect(await refused('--forge', 'gitea', '--url', 'https://ann:hidden@git.test')).not.toContain('hidden')
  expect(await refused('--forge', 'github', '--repo', 'app')).toContain('--repo OWNER/NAME')
})

test('the key and the Git token go to an app-proxy by HTTPS only', async () => {
  const spec = { appProxy: { externalIP: 'http://proxy.test/app-proxy' } }
  await scene.admin.runtimes.create({ name: 'plain', type: 'fake', agent: 'agent', spec })
  const words = ['--forge', 'gitea', '--url', 'https://git.test', '--token-file', tokenFile, '--app-proxy', 'plain']
  const { code, text } = await windlass(scene, ['connect', 'git', 'plain', ...words])
  expect([code, text]).toEqual([1, expect.stringContaining('http://proxy.test/app-proxy, which is not HTTPS')])
})
