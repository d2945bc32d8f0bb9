/** Keys and claims of the ID tokens of steps. */
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { issueStepToken } from '../../../src/identity/step-tokens/issue.ts'
import { publicKeys, rotateSigningKeys } from '../../../src/identity/step-tokens/keys.ts'
import { retain } from '../../../src/retention.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import { createCronTrigger } from '../../../src/triggers/cron/cron-triggers.ts'
import { fireDue } from '../../../src/triggers/cron/fire.ts'
import { processDeliveries } from '../../../src/triggers/deliveries/process.ts'
import { CronTriggerInput } from '@windlass/protocol'
import { addPipeline, addTrigger, addWebhook, deliver } from '../../support/forge-scene.ts'
import { githubPull, githubPush } from '../../support/payloads/payloads.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const DAY_MS = 86_400_000
const START = Date.parse('2027-01-04T06:00:00Z')

/** Requests a token as the engine of a build does. */
async function tokenOf(app: App, { id }: Pick<BuildRow, 'id'>): Promise<string> {
  return issueStepToken(app, { kind: 'attempt', id, accountId: app.accountId, buildId: id, attempt: 1 }, 'cloud.test')
}

async function newestBuild({ store }: App): Promise<BuildRow> {
  return store.query.selectFrom('build').selectAll().orderBy('number', 'desc').limit(1).executeTakeFirstOrThrow()
}

/** Delivers an event and returns the build that it starts. */
async function buildOf(
  app: App,
  webhook: Awaited<ReturnType<typeof addWebhook>>,
  body: object,
  event: string,
): Promise<BuildRow> {
  await deliver(app, webhook, body, { event })
  await processDeliveries(app)
  return newestBuild(app)
}

describe.each(DATABASES)('ID tokens on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('claims of a push, a pull request and a cron trigger are those of the event (P185)', async () => {
    await using held = await openTestApp(database, { startAt: START })
    const { app, clock } = held
    const webhook = await addWebhook(app)
    await addPipeline(app, 'a/app')
    await addTrigger(app, 'a/app', { events: ['push', 'pullrequest'] })
    const push = await buildOf(app, webhook, githubPush(), 'push')
    const subject = `account:${app.accountId}:pipeline:${push.pipeline_id}`
    const repo = 'scm_repo_url:https://github.test/Acme/app'
    expect(decodeJwt(await tokenOf(app, push))).toMatchObject({
      sub: `${subject}:${repo}:scm_user_name:ann:scm_ref:main`,
      trigger: 'webhook',
      trigger_name: 'push',
      branch: 'main',
      scm_ref: 'main',
      scm_user_name: 'ann',
      scm_repo: 'Acme/app',
      scm_repo_url: 'https://github.test/Acme/app',
    })
    // A tag can be called like a protected branch.
    const tag = decodeJwt(await tokenOf(app, await buildOf(app, webhook, githubPush({ ref: 'refs/tags/main' }), 'push')))
    expect(tag).toMatchObject({ sub: `${subject}:${repo}:scm_user_name:ann:scm_tag:main`, scm_tag: 'main', scm_user_name: 'ann' })
    for (const absent of ['scm_ref', 'branch']) expect(tag).not.toHaveProperty(absent)
    const pull = decodeJwt(await tokenOf(app, await buildOf(app, webhook, githubPull('opened'), 'pull_request')))
    expect(pull.sub).toMatch(
      new RegExp(
        `^${subject}:scm_repo_url:[^:]+(:[^:]+)?:scm_user_name:bob:scm_ref:feature/x:scm_pull_request_target_branch:main$`,
      ),
    )
    expect(pull).toMatchObject({ scm_pull_request_target_branch: 'main', scm_user_name: 'bob' })
    for (const absent of ['initiator', 'branch']) expect(pull).not.toHaveProperty(absent)
    const cron = { pipeline: 'a/app', name: 'hourly', message: 'every hour', expression: '0 * * * *' }
    await createCronTrigger(app, { input: CronTriggerInput.parse(cron) })
    clock.advance(3_600_000)
    await fireDue(app)
    const ofCron = decodeJwt(await tokenOf(app, await newestBuild(app)))
    expect(ofCron).toMatchObject({ sub: subject, trigger: 'cron', trigger_name: 'hourly' })
    expect(ofCron).not.toHaveProperty('initiator')
  })

  test('a new key is public for a day before it signs, and the old one for a day after its last token', async () => {
    await using held = await openTestApp(database, { startAt: START })
    const { app, clock } = held
    const webhook = await addWebhook(app)
    await addPipeline(app, 'a/app')
    await addTrigger(app, 'a/app')
    const build = await buildOf(app, webhook, githubPush(), 'push')
    const kidOf = async (): Promise<string | undefined> => decodeProtectedHeader(await tokenOf(app, build)).kid
    const published = async (): Promise<(string | undefined)[]> => (await publicKeys(app)).keys.map(({ kid }) => kid)
    await retain(app)
    expect(await app.store.query.selectFrom('signing_key').selectAll().execute()).toEqual([])
    const [first, ...same] = await Promise.all([kidOf(), kidOf(), kidOf(), kidOf()])
    expect(new Set(same)).toEqual(new Set([first]))
    expect(await published()).toEqual([first])
    clock.advance(29 * DAY_MS - 1)
    await rotateSigningKeys(app)
    expect(await published()).toEqual([first])
    clock.advance(1)
    await Promise.all([rotateSigningKeys(app), rotateSigningKeys(app)])
    const [, second, ...more] = await published()
    expect([await kidOf(), more]).toEqual([first, []])
    clock.advance(DAY_MS - 1)
    const last = await tokenOf(app, build)
    expect(decodeProtectedHeader(last).kid).toBe(first)
    clock.advance(1)
    expect(await kidOf()).toBe(second)
    const keys = createLocalJWKSet((await publicKeys(app)) as JSONWebKeySet)
    await jwtVerify(last, keys, { audience: 'cloud.test', currentDate: new Date(clock.now()) })
    clock.advance(DAY_MS)
    await retain(app)
    expect(await published()).toEqual([second])
    // After a long time without a server the old key signs for one more day.
    clock.advance(90 * DAY_MS)
    expect([await kidOf(), (await published()).length]).toEqual([second, 2])
    clock.advance(DAY_MS)
    expect(await kidOf()).not.toBe(second)
  })
})
