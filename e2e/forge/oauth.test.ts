/** A forge that is connected with an OAuth app: sign-in, webhook, and builds that clone and report after the first tokens have expired. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openClient, type ApiClient } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import type { Delivery } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { openSandbox, startUp, type Finished, type Sandbox, type Up } from '../../packages/cli/test/support.ts'
import { containerHost } from '../support/docker.ts'
import { consent } from '../support/gitea-browser.ts'
import { startGitea, type Gitea, type GiteaUser } from '../support/gitea.ts'
import { cloneAs, type WorkTree } from './work-tree.ts'

/** Lifetime of the access tokens, seconds. */
const TOKEN_SECONDS = 15

let sandbox: Sandbox
let up: Up
let forge: Gitea
let ann: GiteaUser
let client: ApiClient
let tree: WorkTree
/** Client ID of a public app. */
let app: string

const closing = new AsyncDisposableStack()

beforeAll(async () => {
  sandbox = closing.use(await openSandbox())
  const host = await containerHost()
  // The server may call the forge, whose address is private.
  process.env['WINDLASS_SERVER_DOCUMENT_NETWORKS'] = host
  up = closing.use(await startUp(sandbox))
  client = openClient({ url: up.url, token: up.adminKey, transport: nodeTransport() })
  forge = closing.use(await startGitea({ host, tokenSeconds: TOKEN_SECONDS }))
  ann = await forge.addUser('ann')
  await ann.api('POST', '/user/repos', { name: 'app', private: true, default_branch: 'main', auto_init: true })
  tree = closing.use(await cloneAs(ann, `${forge.url}/ann/app.git`))
  const made = await ann.api('POST', '/user/applications/oauth2', {
    name: 'windlass',
    redirect_uris: ['http://127.0.0.1/callback'],
    confidential_client: false,
  })
  app = z.object({ client_id: z.string() }).parse(made).client_id
})

afterAll(() => closing.disposeAsync())

/** Runs `connect git`, and signs in as ann when it shows the page of the forge. */
async function connect(): Promise<Finished> {
  const line = ['connect', 'git', 'work', '--forge', 'gitea', '--url', forge.url, '--oauth-app', app, '--no-browser']
  const running = sandbox.start([...line, '--repo', 'ann/app'])
  await running.says(/^Waiting /m)
  const page = /^http\S+authorize\S+$/m.exec(running.stderr())?.[0] ?? ''
  const answer = await fetch(await consent(page, ann))
  expect(await answer.text()).toContain('You can close this page.')
  return running.finished
}

async function applyPipeline(): Promise<void> {
  const trigger = { type: 'git', name: 'push', repo: 'ann/app', context: 'work', events: ['push.heads'] }
  const clone = { type: 'git-clone', repo: 'ann/app', revision: '${{CF_REVISION}}', git: 'work' }
  const show = { image: sandbox.images['SHELL_IMAGE'], working_directory: '${{main_clone}}', commands: ['ls'] }
  const pipeline = {
    version: '1.0',
    kind: 'pipeline',
    metadata: { name: 'circle/app' },
    spec: { triggers: [trigger], steps: { main_clone: clone, show } },
  }
  const file = join(sandbox.folder, 'pipeline.yml')
  await writeFile(file, JSON.stringify(pipeline))
  await sandbox.run(['create', 'project', 'circle'])
  expect(await sandbox.run(['apply', '-f', file])).toMatchObject({ code: 0 })
}

/** Returns the delivery of a commit that started a build. */
async function deliveryOf(commit: string): Promise<Delivery> {
  let found: Delivery | undefined
  const read = async (): Promise<Delivery | undefined> => {
    found = (await client.deliveries.list()).items.find(({ revision, status }) => revision === commit && status !== 'received')
    return found
  }
  await expect.poll(read, { timeout: 30_000 }).toBeDefined()
  return client.deliveries.get((found as Delivery).id)
}

const Statuses = z.array(z.object({ status: z.string() }))

test('a sign-in connects a private repository, which builds clone after the first token has expired', async () => {
  const connected = await connect()
  expect(connected).toMatchObject({ code: 0 })
  expect(connected.stdout).toMatch(
    /^context\/work created\nwebhook\/work\/ann\/app created\nwebhook of ann\/app at \S+ created\n$/,
  )
  const first = await client.contexts.get('work')
  expect(first.data).toMatchObject({ password: '*****', oauthRefreshToken: '*****', oauthForge: 'gitea', oauthApp: app })
  await applyPipeline()
  for (const file of ['one.txt', 'two.txt']) {
    await sleep(TOKEN_SECONDS * 1000 + 1_000)
    const commit = await tree.push('main', file)
    const [id = ''] = (await deliveryOf(commit)).builds
    await expect.poll(async () => (await client.builds.get(id)).finishedAt, { timeout: 90_000 }).toBeDefined()
    expect(await client.builds.get(id)).toMatchObject({ status: 'success', revision: commit })
    expect((await sandbox.run(['logs', id, '--step', 'show'])).stdout).toContain(`${file}\n`)
    const states = async (): Promise<string[]> =>
      Statuses.parse(await ann.api('GET', `/repos/ann/app/commits/${commit}/statuses?sort=oldest`)).map(({ status }) => status)
    await expect.poll(states, { timeout: 30_000 }).toEqual(['pending', 'success'])
  }
  const renewed = await client.contexts.get('work')
  expect(renewed.expiresAt).toBeGreaterThan(first.expiresAt ?? Infinity)
  expect(renewed.problem).toBeUndefined()
})

test('a withdrawn consent is shown at the context, and a new sign-in repairs it', async () => {
  const Grants = z.array(z.object({ id: z.int() }))
  for (const { id } of Grants.parse(await ann.api('GET', '/user/applications/oauth2')))
    await ann.api('DELETE', `/user/applications/oauth2/${id}`)
  await expect
    .poll(async () => (await client.contexts.get('work')).problem, { timeout: 120_000 })
    .toMatch(/refuses to renew the token/)
  expect((await sandbox.run(['get', 'contexts'])).stdout).toContain('Connect again: `windlass connect git work')
  const made = await ann.api('POST', '/user/applications/oauth2', {
    name: 'windlass',
    redirect_uris: ['http://127.0.0.1/callback'],
    confidential_client: false,
  })
  app = z.object({ client_id: z.string() }).parse(made).client_id
  expect(await connect()).toMatchObject({ code: 0 })
  expect((await client.contexts.get('work')).problem).toBeUndefined()
})
