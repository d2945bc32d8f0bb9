/** Which repositories are polled: those whose pushes or ends of branches a trigger accepts from a webhook with a Git context. */
import { GitTrigger, type EventName } from '@windlass/protocol'
import type { App } from '../../app.ts'
import type { PolledRepoRow } from '../../store/schema/schema.ts'
import { deletePolledRepo, insertPolledRepo, listPolledRepos } from '../../store/triggers/branch-heads.ts'
import { listAllTriggers } from '../../store/triggers/triggers.ts'
import { listPollingWebhooks } from '../../store/triggers/webhooks.ts'
import { accepts, isForgeWebhook } from '../rules/accepts.ts'

const PUSHES: readonly EventName[] = ['push', 'push.heads', 'push.newBranch', 'push.deleteBranch']

/** Adds repositories of new triggers and webhooks, and removes those that none of them names any more. Writes only if there is a difference. */
export async function choosePolledRepos({ store, accountId, clock }: App): Promise<void> {
  const wanted = await listWanted(store.query, accountId)
  const known = await listPolledRepos(store.query, accountId)
  const kept = new Set(known.map(keyOf))
  const added = [...wanted.values()].filter((row) => !kept.has(keyOf(row)))
  const removed = known.filter((row) => !wanted.has(keyOf(row)))
  if (added.length === 0 && removed.length === 0) return
  const now = clock.now()
  await store.write(async (tx) => {
    for (const row of removed) await deletePolledRepo(tx, row)
    for (const row of added) await insertPolledRepo(tx, { ...row, polled_at: null, problem: null, next_at: now })
  })
}

type Wanted = Pick<PolledRepoRow, 'webhook_id' | 'repo' | 'account_id' | 'name'>

async function listWanted(query: App['store']['query'], accountId: string): Promise<Map<string, Wanted>> {
  const wanted = new Map<string, Wanted>()
  const webhooks = await listPollingWebhooks(query, accountId)
  if (webhooks.length === 0) return wanted
  for (const { repo, spec } of await listAllTriggers(query, accountId)) {
    const trigger = GitTrigger.parse(JSON.parse(spec))
    if (trigger.disabled || !trigger.events.some((event) => PUSHES.includes(event))) continue
    for (const webhook of webhooks) {
      const row = { webhook_id: webhook.id, repo, account_id: accountId, name: trigger.repo }
      if (isForgeWebhook(webhook) && accepts(trigger, webhook) && !wanted.has(keyOf(row))) wanted.set(keyOf(row), row)
    }
  }
  return wanted
}

function keyOf({ webhook_id: webhook, repo }: Pick<PolledRepoRow, 'webhook_id' | 'repo'>): string {
  return `${webhook} ${repo}`
}
