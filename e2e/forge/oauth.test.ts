/** A forge that is connected with an OAuth app: sign-in, webhook, and builds that clone and report after the first tokens have expired. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { Finished } from '../../packages/cli/test/support.ts'
import { consent } from '../support/gitea-browser.ts'
import { openForgeScene, type ForgeScene } from './forge-scene.ts'

/**
 * Lifetime of the access tokens, seconds. The server gives a build a token that has a third of it left at least, in which the container of the clone
 * starts and git signs in.
 */
const TOKEN_SECONDS = 45

let scene: ForgeScene
/** Client ID of a public app. */
let app: string

beforeAll(async () => {
  scene = await openForgeScene({ isPrivate: true, tokenSeconds: TOKEN_SECONDS })
  app = await makeApp()
})

afterAll(() => scene[Symbol.asyncDispose]())

async function makeApp(): Promise<string> {
  const made = await scene.ann.api('POST', '/user/applications/oauth2', {
    name: 'windlass',
    redirect_uris: ['http://127.0.0.1/callback'],
    confidential_client: false,
  })
  return z.object({ client_id: z.string() }).parse(made).client_id
}

/** Runs `connect git`, and signs in as ann when it shows the page of the forge. */
async function connect(): Promise<Finished> {
  const { sandbox, forge, ann } = scene
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
  const show = { image: scene.sandbox.images['SHELL_IMAGE'], working_directory: '${{main_clone}}', commands: ['ls'] }
  const spec = { triggers: [trigger], steps: { main_clone: clone, show } }
  await scene.apply([{ version: '1.0', kind: 'pipeline', metadata: { name: 'circle/app' }, spec }])
}

const Statuses = z.array(z.object({ status: z.string() }))

test('a sign-in connects a private repository, which builds clone after the first token has expired', async () => {
  const { client, sandbox, ann, tree } = scene
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
    const [id = ''] = (await scene.delivered(({ revision }) => revision === commit)).builds
    expect(await scene.ended(id)).toMatchObject({ status: 'success', revision: commit })
    expect((await sandbox.run(['logs', id, '--step', 'show'])).stdout).toContain(`${file}\n`)
    const states = async (): Promise<string[]> =>
      Statuses.parse(await ann.api('GET', `/repos/ann/app/commits/${commit}/statuses?sort=oldest`)).map(({ status }) => status)
    await expect.poll(states).toEqual(['pending', 'success'])
  }
  // The token has no right to read its user.
  const checked = await sandbox.run(['check', 'context', 'work'])
  expect([checked.code, checked.stdout], checked.stderr).toEqual([0, expect.stringContaining('accepts the login')])
  const renewed = await client.contexts.get('work')
  expect(renewed.expiresAt).toBeGreaterThan(first.expiresAt ?? Infinity)
  expect(renewed.problem).toBeUndefined()
})

test('a withdrawn consent is shown at the context, and a new sign-in repairs it', async () => {
  const { client, sandbox, ann } = scene
  const Grants = z.array(z.object({ id: z.int() }))
  for (const { id } of Grants.parse(await ann.api('GET', '/user/applications/oauth2')))
    await ann.api('DELETE', `/user/applications/oauth2/${id}`)
  await expect
    // The server looks each minute, and renews a token in the last third of its life.
    .poll(async () => (await client.contexts.get('work')).problem, { timeout: 300_000 })
    .toMatch(/refuses to renew the token/)
  expect((await sandbox.run(['get', 'contexts'])).stdout).toContain('Connect again: `windlass connect git work')
  app = await makeApp()
  expect(await connect()).toMatchObject({ code: 0 })
  expect((await client.contexts.get('work')).problem).toBeUndefined()
})
