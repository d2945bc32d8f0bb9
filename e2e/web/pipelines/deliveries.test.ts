/** The inbox of webhooks and the ladder of a delivery in Chromium, with calls as a forge sends them. */
import { TRIGGER_RULES, type Delivery, type TriggerRule, type WebhookCreated } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HELLO } from '../../../packages/server/test/support/http-scene.ts'
import { githubComment, githubPull, githubPush } from '../../../packages/server/test/support/payloads/payloads.ts'
import { deliverEvent, sendCall } from '../support/forge-calls.ts'
import { live, show } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene
let webhook: WebhookCreated

beforeAll(async () => {
  web = await openWebScene()
  const { admin } = web.server
  await admin.triggers.create({
    pipeline: 'demo/app',
    name: 'push',
    repo: 'acme/app',
    events: ['push.heads'],
    branchRegex: 'main',
  })
  webhook = await admin.webhooks.create({ name: 'github', forge: 'github' })
})

afterAll(() => web[Symbol.asyncDispose]())

const push = (revision: string, more: object = {}): unknown => githubPush({ after: revision.repeat(20), ...more })

test('a delivery, a refused call and a doubled call are on an open page within 2 seconds, with outcome and reason (W072)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/deliveries')
  await page.getByText('No deliveries yet.').waitFor()
  await live(page)
  const row = page.getByRole('listitem')

  await sendCall(webhook, push('c1'), { id: 'first' })
  await row.filter({ hasText: 'Started 1 build.' }).waitFor()
  await sendCall(webhook, push('c2', { ref: 'refs/heads/docs' }), { id: 'docs' })
  await row.filter({ hasText: '"docs" does not match main.' }).getByText('No build').waitFor()
  await sendCall(webhook, push('c1'), { id: 'first' })
  await row.filter({ hasText: 'The same call came once more and built nothing.' }).waitFor()
  expect((await sendCall(webhook, push('c3'), { wrongSecret: 'f'.repeat(32) })).status).toBe(401)
  await row.filter({ hasText: 'Refused' }).getByText('does not belong to the webhook').waitFor()
  expect((await sendCall(webhook, push('c3'), { wrongSecret: 'f'.repeat(32) })).status).toBe(401)
  await row.getByText('The same happened once more.').waitFor()
  await expect.poll(() => row.count()).toBe(3)
  expect(seen).toEqual([])
})

test('filters are in the address, and the list has what the server gives for them (W010)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/deliveries')
  await page.getByRole('button', { name: 'No build', exact: true }).click()
  await page.waitForURL('**/deliveries?outcome=nothing')
  await expect.poll(() => page.getByRole('listitem').count()).toBe(1)
  await page.getByRole('searchbox').fill('acme/app@docs')
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.searchParams.get('branch') === 'docs')
  await page.reload()
  await page.getByRole('listitem').filter({ hasText: 'docs' }).waitFor()
  await page.getByText('windlass get deliveries --repo acme/app --branch docs --status processed').waitFor()
  await page.getByRole('button', { name: 'Refused', exact: true }).click()
  await page.getByText('No deliveries match.').waitFor()
  expect(seen).toEqual([])
})

const PULL_EVENTS = ['pullrequest', 'pullrequest.commentAdded']

/** A trigger for each rule that only this rule stops, and what the ladder shows of it. */
const STOPS: Readonly<
  Record<
    TriggerRule,
    { readonly trigger: object; readonly event: 'push' | 'skip' | 'fork' | 'comment'; readonly shows: readonly string[] }
  >
> = {
  disabled: { trigger: { disabled: true }, event: 'push', shows: ['The trigger is disabled.', 'disabled', 'enabled'] },
  event: { trigger: { events: ['release'] }, event: 'push', shows: ['push.heads, push', 'release'] },
  'skip-text': { trigger: {}, event: 'skip', shows: ['Fix [skip ci]', 'none of [skip ci]'] },
  fork: { trigger: { events: PULL_EVENTS }, event: 'fork', shows: ['a fork', 'no fork'] },
  branch: { trigger: { branchRegex: '/^next$/' }, event: 'push', shows: ['main', '/^next$/'] },
  'target-branch': {
    trigger: { events: PULL_EVENTS, pullRequestAllowForkEvents: true, pullRequestTargetBranchRegex: '/^release/' },
    event: 'fork',
    shows: ['main', '/^release/'],
  },
  comment: {
    trigger: {
      events: PULL_EVENTS,
      commentRegex: '/deploy/',
      skipCommentAuthorAssociationValidation: true,
      pullRequestAllowForkEvents: true,
    },
    event: 'comment',
    shows: ['please /test it', '/deploy/'],
  },
  'comment-author': {
    trigger: { events: PULL_EVENTS, pullRequestAllowForkEvents: true },
    event: 'comment',
    shows: ['bob', 'may write to the repository'],
  },
  'modified-files': {
    trigger: { modifiedFilesGlob: '{docs/**,charts/**}' },
    event: 'push',
    shows: ['2 changed files', '{docs/**,charts/**}', 'src/new.ts', 'README.md', 'matches no part'],
  },
}

test('for each of nine rules the ladder shows rule, value and pattern, and for files which file met which part (W073)', async () => {
  const { server } = web
  for (const [rule, { trigger }] of Object.entries(STOPS)) {
    await server.admin.pipelines.create({ name: `ladder/${rule}`, document: HELLO })
    await server.admin.triggers.create({
      pipeline: `ladder/${rule}`,
      name: 'one',
      repo: 'acme/app',
      events: ['push'],
      ...trigger,
    })
  }
  await server.admin.pipelines.create({ name: 'ladder/met', document: HELLO })
  await server.admin.triggers.create({
    pipeline: 'ladder/met',
    name: 'one',
    repo: 'acme/app',
    events: ['push'],
    modifiedFilesGlob: '{docs/**,src/**}',
  })
  const skip = { head_commit: { id: 'd2'.repeat(20), message: 'Fix [skip ci]', author: { name: 'Ann' } } }
  const events: Readonly<Record<'push' | 'skip' | 'fork' | 'comment', Delivery>> = {
    push: await deliverEvent(server, webhook, push('d1')),
    skip: await deliverEvent(server, webhook, push('d2', skip)),
    fork: await deliverEvent(server, webhook, githubPull('opened', { fork: true }), { event: 'pull_request' }),
    comment: await deliverEvent(server, webhook, githubComment('please /test it', 'NONE'), { event: 'issue_comment' }),
  }
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/deliveries')
  for (const rule of TRIGGER_RULES) {
    const { event, shows } = STOPS[rule]
    await show(page, `/deliveries/${events[event].id}`)
    const ladder = page.getByRole('region', { name: `Trigger one of ladder/${rule}`, exact: true })
    const rungs = ladder.locator('[data-rule]')
    await rungs.first().waitFor()
    await expect
      .poll(() => rungs.evaluateAll((all) => all.map((one) => one.getAttribute('data-rule'))))
      .toEqual([...TRIGGER_RULES])
    const stop = ladder.locator(`[data-rule="${rule}"]`)
    expect({ rule, holds: await stop.getAttribute('data-holds') }).toEqual({ rule, holds: 'false' })
    const text = await stop.innerText()
    for (const part of shows) expect({ rule, text }).toEqual({ rule, text: expect.stringContaining(part) })
  }
  await page.goto(`/deliveries/${events.push.id}`)
  const files = page
    .getByRole('region', { name: 'Trigger one of ladder/met', exact: true })
    .getByRole('list', { name: 'Changed files' })
  await files.getByText('src/new.ts').waitFor()
  await expect.poll(() => files.innerText()).toMatch(/src\/new\.ts matches src\/\*\*\n+README\.md matches no part/)
  expect(seen).toEqual([])
})

test('a replay starts one build per matching trigger, is marked as replay and is not taken for a double (W074)', async () => {
  const { server } = web
  const first = await deliverEvent(server, webhook, push('e1'))
  const matching = first.builds.length
  expect(matching).toBeGreaterThan(1)
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(`/deliveries/${first.id}`)
  await page.getByText(`windlass replay delivery ${first.id}`).waitFor()
  await page.getByRole('button', { name: 'Replay', exact: true }).click()
  await page.waitForURL((url) => url.pathname.startsWith('/deliveries/') && !url.pathname.endsWith(first.id))
  await page.getByRole('link', { name: 'replay of an earlier delivery' }).waitFor()
  await page.getByText(`Started ${matching} builds.`).waitFor()
  const replay = await server.admin.deliveries.get(page.url().split('/').at(-1) ?? '')
  expect(replay).toMatchObject({ replayOf: first.id, repeats: 0 })
  expect(replay.builds).toHaveLength(matching)
  expect(new Set([...first.builds, ...replay.builds]).size).toBe(2 * matching)
  expect((await server.admin.deliveries.get(first.id)).repeats).toBe(0)
  await page.goto('/deliveries')
  await page.getByRole('listitem').filter({ hasText: 'replay' }).first().waitFor()
  expect(seen).toEqual([])
})

test('headers and the body are shown without the secrets in them', async () => {
  const { server } = web
  const secrets = { access_token: 'hunter2hunter2', clone: 'https://ann:hunter3hunter3@git.example.com/acme/app.git' }
  const { id } = await deliverEvent(server, webhook, push('f1', secrets))
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(`/deliveries/${id}`)
  await page.getByRole('region', { name: '2 headers' }).getByText('x-github-event: push').waitFor()
  const body = await page.getByRole('region', { name: 'Body' }).innerText()
  expect(body).toContain('"access_token": "*****"')
  expect(body).toContain('https://*****@git.example.com/acme/app.git')
  expect(await page.content()).not.toMatch(/hunter[23]/)
  await page.getByText('answer 202 Accepted').waitFor()
  expect(seen).toEqual([])
})
