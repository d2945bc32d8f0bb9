/** Triggers and deliveries for users with a role only in one project. */
import type { ApiClient } from '@windlass/client'
import { DeliveryReceipt, type Delivery, type Role, type WebhookCreated } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { githubCall } from '../../support/forge-scene.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { githubComment, githubPull, githubPush } from '../../support/payloads/payloads.ts'

const HIDDEN = { code: 'not-found' }

async function userIn(scene: HttpScene, project: string, role: Role): Promise<ApiClient> {
  const { admin } = scene
  const name = `${project}-${role}`
  await admin.users.create({ name, kind: 'service-account', role: 'none', projects: { [project]: role } })
  return scene.nobody.withToken((await admin.keys.create({ name, role: 'admin', owner: name })).token)
}

/** Creates the pipelines `shop/app` and `other/app`, which both build pushes of one repository. */
async function openTwo(scene: HttpScene): Promise<WebhookCreated> {
  const { admin } = scene
  for (const pipeline of ['shop/app', 'other/app']) {
    await admin.pipelines.create({ name: pipeline, document: HELLO })
    await admin.triggers.create({ pipeline, name: 'push', repo: 'acme/app', events: ['push'], branchRegex: 'main' })
    await admin.cronTriggers.create({ pipeline, name: 'yearly', message: 'yearly', expression: '@yearly' })
  }
  return admin.webhooks.create({ name: 'github', forge: 'github' })
}

/** Delivers an event, and waits until it is processed. */
async function deliver({ admin }: HttpScene, webhook: WebhookCreated, body: unknown, event = 'push'): Promise<Delivery> {
  const call = githubCall(webhook, body, { event })
  const answer = await fetch(webhook.url, { method: 'POST', headers: call.headers, body: call.body.toString() })
  const { id } = DeliveryReceipt.parse(await answer.json())
  await expect.poll(async () => (await admin.deliveries.get(id)).status).not.toBe('received')
  return admin.deliveries.get(id)
}

test('a developer of a project creates and changes triggers of its pipelines only', async () => {
  await using scene = await openHttpScene()
  await openTwo(scene)
  const developer = await userIn(scene, 'shop', 'developer')
  const { triggers, cronTriggers } = developer
  expect((await triggers.list()).items.map(({ pipeline }) => pipeline)).toEqual(['shop/app'])
  expect((await cronTriggers.list()).items.map(({ pipeline }) => pipeline)).toEqual(['shop/app'])
  await expect(triggers.list({ query: { pipeline: 'other/app' } })).rejects.toMatchObject(HIDDEN)
  const input = { pipeline: 'shop/app', name: 'mine', repo: 'acme/app', events: ['push' as const] }
  const cron = { pipeline: 'shop/app', name: 'mine', message: 'daily', expression: '@daily' }
  const { id } = await triggers.create(input)
  const { id: daily } = await cronTriggers.create(cron)
  for (const pipeline of ['other/app', 'no/app', 'app']) {
    await expect(triggers.create({ ...input, pipeline }), pipeline).rejects.toMatchObject(HIDDEN)
    await expect(triggers.put(id, { ...input, pipeline }), pipeline).rejects.toMatchObject(HIDDEN)
    await expect(cronTriggers.create({ ...cron, pipeline }), pipeline).rejects.toMatchObject(HIDDEN)
    await expect(cronTriggers.put(daily, { ...cron, pipeline }), pipeline).rejects.toMatchObject(HIDDEN)
  }
  expect(await triggers.put(id, { ...input, disabled: true })).toMatchObject({ disabled: true })
  await triggers.delete(id)
  await cronTriggers.delete(daily)
  const { id: foreign } = await scene.admin.triggers.get('other/app#push')
  await expect(triggers.get(foreign)).rejects.toMatchObject(HIDDEN)
  await expect(triggers.delete(foreign)).rejects.toMatchObject(HIDDEN)
  await expect(developer.webhooks.list()).rejects.toMatchObject({ code: 'forbidden' })
})

test('a user of a project sees the deliveries that its triggers were judged for, without other triggers', async () => {
  await using scene = await openHttpScene()
  const webhook = await openTwo(scene)
  await scene.admin.triggers.create({ pipeline: 'other/app', name: 'tag', repo: 'acme/else', events: ['push'] })
  const viewer = await userIn(scene, 'shop', 'viewer')
  const both = await deliver(scene, webhook, githubPush())
  const foreign = await deliver(scene, webhook, githubPush({ repository: { full_name: 'acme/else' } }))
  expect(both.builds).toHaveLength(2)
  const { items } = await viewer.deliveries.list()
  expect(items.map(({ id, builds }) => [id, builds.length])).toEqual([[both.id, 1]])
  const shown = await viewer.deliveries.get(both.id)
  expect(shown.triggers?.map(({ pipeline }) => pipeline)).toEqual(['shop/app'])
  expect(JSON.stringify(shown)).not.toContain('other/app')
  await expect(viewer.deliveries.get(foreign.id)).rejects.toMatchObject(HIDDEN)
  const test = { forge: 'github', event: 'push', body: JSON.stringify(githubPush()) } as const
  expect((await viewer.triggers.test(test)).triggers.map(({ pipeline }) => pipeline)).toEqual(['shop/app'])
  await expect(viewer.triggers.test({ ...test, pipeline: 'other/app' })).rejects.toMatchObject(HIDDEN)
  // The reason is that of the triggers that the user sees.
  const skipped = await deliver(scene, webhook, githubPush({ ref: 'refs/heads/dev' }))
  expect(await viewer.deliveries.get(skipped.id)).toMatchObject({ reason: 'branch', builds: [] })
})

test('a replay of a developer of a project starts builds of the project only', async () => {
  await using scene = await openHttpScene()
  const webhook = await openTwo(scene)
  const delivery = await deliver(scene, webhook, githubPush())
  const viewer = await userIn(scene, 'shop', 'viewer')
  const developer = await userIn(scene, 'shop', 'developer')
  await expect(viewer.deliveries.replay(delivery.id)).rejects.toMatchObject({ code: 'forbidden' })
  const { id } = await developer.deliveries.replay(delivery.id)
  await expect.poll(async () => (await developer.deliveries.get(id)).status).toBe('processed')
  const replay = await scene.admin.deliveries.get(id)
  expect(replay.triggers?.map(({ pipeline }) => pipeline)).toEqual(['shop/app'])
  expect((await scene.admin.builds.list()).items).toHaveLength(3)
  await scene.admin.projects.create({ name: 'third' })
  const outsider = await userIn(scene, 'third', 'developer')
  await expect(outsider.deliveries.replay(delivery.id)).rejects.toMatchObject(HIDDEN)
})

test('developers of the project approve the build of a fork, and the audit log names its commit', async () => {
  await using scene = await openHttpScene()
  const webhook = await openTwo(scene)
  const { admin } = scene
  const events = ['pullrequest' as const, 'pullrequest.commentAdded' as const]
  await admin.triggers.create({ pipeline: 'shop/app', name: 'pr', repo: 'acme/app', events, pullRequestAllowForkEvents: true })
  const { builds } = await deliver(scene, webhook, githubPull('opened', { fork: true, association: 'NONE' }), 'pull_request')
  const [id = ''] = builds
  const [viewer, developer, outsider] = [
    await userIn(scene, 'shop', 'viewer'),
    await userIn(scene, 'shop', 'developer'),
    await userIn(scene, 'other', 'admin'),
  ]
  await expect(viewer.builds.approve(id, {})).rejects.toMatchObject({ code: 'forbidden' })
  await expect(outsider.builds.approve(id, {})).rejects.toMatchObject(HIDDEN)
  const build = await developer.builds.approve(id, { comment: 'read it' })
  expect(build).toMatchObject({
    status: expect.toBeOneOf(['pending', 'elected']),
    approvals: [{ step: '', decision: 'approved', by: { name: 'shop-developer' } }],
  })
  const { items } = await admin.audit.list({ query: { limit: 500 } })
  expect(items.filter(({ action, result }) => action === 'POST /v1/builds/{id}/approve' && result === 'done')).toMatchObject([
    {
      actor: 'shop-developer',
      target: `/v1/builds/${id}/approve`,
      detail: `the start of build #${build.number} of ${build.pipeline} at commit ${build.revision} approved`,
    },
  ])
  // A comment of a writer builds the same commit without another approval.
  const comment = await deliver(scene, webhook, githubComment('/test', 'MEMBER'), 'issue_comment')
  expect(await admin.builds.get(comment.builds[0] ?? '')).toMatchObject({
    status: expect.toBeOneOf(['pending', 'elected']),
    revision: build.revision,
  })
})
