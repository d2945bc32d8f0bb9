/** A pipeline with triggers and a delivery, contexts, people and records, for tests that visit these screens. */
import type { Delivery } from '@windlass/protocol'
import { HELLO, type HttpScene } from '../../../packages/server/test/support/http-scene.ts'
import { githubPush } from '../../../packages/server/test/support/payloads/payloads.ts'
import { deliverEvent } from './forge-calls.ts'

export interface Inbox {
  readonly pipeline: string
  readonly delivery: Delivery
  readonly context: string
  /** Addresses of the screens that show them. */
  readonly paths: readonly string[]
}

/** Makes everything. Where a forge or a person can write any text, it is taken from `texts` in turn. */
export async function seedInbox(scene: HttpScene, texts: readonly string[] = ['Fix the tax']): Promise<Inbox> {
  const { admin } = scene
  const pipeline = 'inbox/app'
  const text = (index: number): string => (texts[index % texts.length] ?? '').slice(0, 140)
  await admin.pipelines.create({ name: pipeline, document: HELLO })
  const git = { pipeline, repo: 'acme/app', events: ['push.heads' as const] }
  await admin.triggers.create({ ...git, name: 'main', branchRegex: 'main', description: text(0) })
  await admin.triggers.create({ ...git, name: 'docs', modifiedFilesGlob: '{docs/**,charts/**}', description: text(1) })
  await admin.cronTriggers.create({
    pipeline,
    name: 'nightly',
    message: 'nightly',
    expression: '30 2 * * MON-FRI',
    timezone: 'Europe/Berlin',
    description: text(2),
  })
  await admin.triggers.create({ ...git, name: 'hostile', branchRegex: text(3), commentRegex: text(4) }).catch(() => undefined)
  const webhook = await admin.webhooks.create({ name: 'inbox', forge: 'github' })
  const commit = { id: 'a7'.repeat(20), message: texts.join('\n').slice(0, 20_000), author: { name: text(5), username: text(6) } }
  const delivery = await deliverEvent(
    scene,
    webhook,
    githubPush({
      ref: `refs/heads/${text(7)}`,
      after: commit.id,
      head_commit: commit,
      pusher: { name: text(8) },
      commits: [{ ...commit, added: texts.slice(0, 60), removed: [], modified: ['README.md'] }],
    }),
  )
  await admin.deliveries.replay(delivery.id)
  const context = 'inbox-login'
  const data = { url: 'https://git.example.com', username: text(9), password: 'hunter2hunter2' }
  await admin.contexts.create({ name: context, type: 'git', isDefault: false, data })
  await admin.users.create({ name: 'inbox-user', displayName: text(10), role: 'viewer', password: 'a long password' })
  await admin.teams.create({ name: 'inbox-team', members: ['inbox-user'] })
  await admin.keys.create({ name: 'inbox-key', role: 'viewer', scopes: ['build:read'] })
  return {
    pipeline,
    delivery,
    context,
    paths: [
      '/deliveries',
      `/deliveries/${delivery.id}`,
      `/pipelines/${pipeline}/-/triggers`,
      `/pipelines/${pipeline}/-/triggers?new=git`,
      `/pipelines/${pipeline}/-/triggers?new=cron`,
      `/pipelines/${pipeline}/-/triggers?new=event`,
      `/pipelines/${pipeline}/-/triggers?test=1`,
      '/contexts',
      `/contexts/${context}`,
      '/contexts?new=secret',
      '/access/people',
      '/access/keys',
      '/access/roles',
      '/access/audit',
    ],
  }
}
