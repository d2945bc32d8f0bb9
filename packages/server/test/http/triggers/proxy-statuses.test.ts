/** Commit statuses that an app-proxy sets: what it is asked for, in which order, and what becomes of its answers. */
import { errandCalls, type ErrandCalls } from '@windlass/client/app-proxy'
import type { Build, ErrandResult, StatusErrand } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { githubCall } from '../../support/forge-scene.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { githubPush } from '../../support/payloads/payloads.ts'

const PROXY = { runtime: 'prod-builds-00000000', integration: 'work' }

interface Parts {
  readonly scene: HttpScene
  readonly errands: ErrandCalls
  /** The build of a push. */
  readonly build: Build
}

/** Lets a push start a build. With `isGone` the app-proxy was removed before. */
async function openParts(scene: HttpScene, isGone = false): Promise<Parts> {
  const { admin, nobody } = scene
  const { token } = await admin.gitopsRuntimes.createToken(PROXY.runtime)
  await admin.pipelines.create({ name: 'team/app', document: HELLO })
  await admin.triggers.create({ pipeline: 'team/app', name: 'push', repo: 'acme/app', events: ['push.heads'] })
  const webhook = await admin.webhooks.create({ name: 'github', forge: 'github', appProxy: PROXY })
  expect(webhook).toMatchObject({ appProxy: PROXY, polls: false })
  if (isGone) await admin.gitopsRuntimes.delete(PROXY.runtime)
  const { headers, body } = githubCall(webhook, githubPush({ after: 'a'.repeat(40) }), {})
  await fetch(webhook.url, { method: 'POST', headers, body: body.toString() })
  await expect.poll(async () => (await admin.builds.list()).items.length).toBe(1)
  const [build] = (await admin.builds.list()).items
  if (build === undefined) throw new Error('no build')
  return { scene, errands: errandCalls(nobody.withToken(token)), build }
}

/** Waits for an errand. */
async function claim(errands: ErrandCalls): Promise<{ readonly id: string; readonly work: StatusErrand }> {
  const [errand] = (await errands.claim({ room: 4, waitMs: 20_000 })).errands
  if (errand === undefined) throw new Error('no errand')
  return { id: errand.id, work: errand.work as StatusErrand }
}

const statusOf = async ({ scene, build }: Parts): Promise<Build['commitStatus']> =>
  (await scene.admin.builds.get(build.id)).commitStatus
const settled = (parts: Parts, wanted: object): Promise<void> =>
  expect.poll(() => statusOf(parts), { timeout: 30_000 }).toMatchObject(wanted)

test('the app-proxy of the webhook sets the status, and a later one only after it has reported the earlier one', async () => {
  await using scene = await openHttpScene()
  const parts = await openParts(scene)
  const first = await claim(parts.errands)
  expect(first.work).toMatchObject({
    kind: 'status',
    integration: 'work',
    repo: 'Acme/app',
    revision: 'a'.repeat(40),
    title: 'team/app',
    state: 'pending',
    url: expect.stringContaining(parts.build.id),
  })
  await scene.admin.builds.terminate(parts.build.id)
  expect((await parts.errands.claim({ room: 4, waitMs: 1_500 })).errands).toEqual([])
  await parts.errands.report(first.id, { result: { kind: 'status' } })
  const second = await claim(parts.errands)
  expect(second.work).toMatchObject({ state: 'error' })
  await parts.errands.report(second.id, { result: { kind: 'status' } })
  await settled(parts, { state: 'error', message: 'sent' })
  expect((await parts.errands.claim({ room: 4, waitMs: 0 })).errands).toEqual([])
})

test.each([
  { mayRetry: false, message: 'failed' },
  { mayRetry: true, message: 'waiting' },
])(
  'a refusal of the forge is shown at the build, and tried again only if that can help: $mayRetry',
  async ({ mayRetry, message }) => {
    await using scene = await openHttpScene()
    const parts = await openParts(scene)
    const { id } = await claim(parts.errands)
    const result: ErrandResult = { kind: 'failed', code: 'forbidden', message: 'Not allowed.', hint: 'Ask.', mayRetry }
    await parts.errands.report(id, { result })
    await settled(parts, { message, problem: 'Not allowed. Ask.' })
  },
)

test('without its app-proxy a status is given up, and a webhook with one does not poll', async () => {
  await using scene = await openHttpScene()
  const parts = await openParts(scene, true)
  await settled(parts, { message: 'failed', problem: expect.stringContaining(`no app-proxy "${PROXY.runtime}"`) })
  const polling = scene.admin.webhooks.create({ name: 'x', forge: 'github', context: 'work', appProxy: PROXY, polls: true })
  await expect(polling).rejects.toThrow('cannot poll')
  const registry = scene.admin.webhooks.create({ name: 'y', registry: 'dockerhub', appProxy: PROXY })
  await expect(registry).rejects.toMatchObject({ code: 'request-invalid' })
})
