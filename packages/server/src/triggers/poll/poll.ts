/**
 * Finds pushes and ends of branches that no call reported, for example because the server was away for longer than the forge repeats its calls: the branches of each repository are
 * listed, and a head that changed since the last list, without a call, becomes a delivery like that of a call.
 */
import type { BranchHead, CommitFacts } from '@windlass/forges'
import { attempt, ticks } from '@windlass/kit'
import type { App } from '../../app.ts'
import { askAll, askOne, openAccess, type Asked, type ForgeAccess, type ForgeProblem } from '../../forges/ask.ts'
import type { BranchHeadRow, PolledRepoRow, WebhookRow } from '../../store/schema/schema.ts'
import type { Tx } from '../../store/store.ts'
import {
  listBranchHeads,
  listDuePolls,
  lockPolledRepo,
  saveBranchHead,
  takePoll,
  updatePolledRepo,
} from '../../store/triggers/branch-heads.ts'
import { hasDeliveryOfBranch, hasDeliveryOfHead } from '../../store/triggers/deliveries.ts'
import { findWebhookById } from '../../store/triggers/webhooks.ts'
import { isForgeWebhook } from '../rules/accepts.ts'
import { noteMissing } from './ended-branches.ts'
import { insertPolled } from './insert-polled.ts'
import { choosePolledRepos } from './polled-repos.ts'
import { toPushBody } from './push-body.ts'

/** How often the server looks for repositories that are due. Milliseconds. */
const TICK_MS = 30_000
/** After a refusal, for example of a repository that the forge does not have, the next poll is after so many periods. */
const REFUSED_PERIODS = 12
/** Maximum number of pushes of a repository that one poll reports. The next poll reports the others. */
const MAX_PUSHES = 100

/** Polls repositories when they are due, at once after a start, until the server closes. */
export async function pollLoop(app: App): Promise<void> {
  const { pollMs } = app.timings
  if (pollMs === 0) return
  for await (const _ of ticks(Math.min(pollMs, TICK_MS), { clock: app.clock, signal: app.closing, jitter: 0.2 }))
    await attempt(app.log, 'branch polling', () => pollRepos(app))
}

/** Polls the repositories that are due. After a webhook whose forge is away, its other repositories wait for the next time. */
export async function pollRepos(app: App): Promise<void> {
  const { store, clock, accountId, timings, closing } = app
  await choosePolledRepos(app)
  const away = new Set<string>()
  for (const row of await listDuePolls(store.query, { accountId, now: clock.now() })) {
    if (closing.aborted) return
    if (away.has(row.webhook_id)) continue
    if (!(await store.write((tx) => takePoll(tx, row, clock.now() + timings.pollMs)))) continue
    await attempt(app.log, 'branch polling of a repository', async () => {
      const problem = await pollRepo(app, row)
      if (problem === undefined) return
      if (problem.mayRetry) away.add(row.webhook_id)
      if (problem.problem !== row.problem) app.log.warn({ repo: row.repo, problem: problem.problem }, 'branches not polled')
      const later = problem.mayRetry ? {} : { next_at: clock.now() + REFUSED_PERIODS * timings.pollMs }
      await store.write((tx) => updatePolledRepo(tx, row, { problem: problem.problem, ...later }))
    })
  }
}

/** Polls one repository. Returns why it could not. */
async function pollRepo(app: App, row: PolledRepoRow): Promise<ForgeProblem | undefined> {
  const startedAt = app.clock.now()
  const webhook = await findWebhookById(app.store.query, row.webhook_id)
  if (webhook === undefined || webhook.context === null || !isForgeWebhook(webhook)) return undefined
  const access = await openAccess(app, { forge: webhook.forge, context: webhook.context })
  if (access.problem !== undefined) return access
  const listed = await askAll(app, access.value, access.value.api.branches(row.name))
  if (listed.problem !== undefined) return listed
  const { items, isWhole } = listed.value
  if (!isWhole) return { problem: 'The repository has too many branches.', mayRetry: false, afterMs: 0 }
  const heads = new Map(items.map((head) => [head.name, head]))
  const live = liveOf(await listBranchHeads(app.store.query, row))
  if (heads.size === 0 && live.size > 0) return { problem: 'The forge lists no branches.', mayRetry: true, afterMs: 0 }
  const unreported = await findUnreported(app, row, { heads, known: live })
  const pushes: Push[] = []
  for (const head of unreported.slice(0, MAX_PUSHES)) {
    const commit: Asked<CommitFacts> =
      head.commit === undefined ? await askCommit(app, access.value, row, head) : { value: head.commit }
    if (commit.problem !== undefined) return commit
    pushes.push({ ...head, commit: commit.value, base: live.get(head.name)?.revision ?? '' })
  }
  const isComplete = pushes.length === unreported.length
  await app.store.write((tx) => savePoll(tx, { app, row, webhook, heads, pushes, isComplete, startedAt }))
  return undefined
}

/** Returns the heads of branches whose end was not reported, by branch. */
function liveOf(stored: readonly BranchHeadRow[]): Map<string, BranchHeadRow> {
  return new Map(stored.filter((head) => head.ended_at === null).map((head) => [head.branch, head]))
}

function askCommit(
  app: App,
  access: ForgeAccess,
  { name }: PolledRepoRow,
  { revision }: BranchHead,
): Promise<Asked<CommitFacts>> {
  return askOne(app, access, access.api.commit(name, revision))
}

type Push = BranchHead & { readonly commit: CommitFacts; readonly base: string }

interface Compared {
  readonly heads: ReadonlyMap<string, BranchHead>
  readonly known: ReadonlyMap<string, BranchHeadRow>
}

/** Returns the heads that changed since the last list, without a call. Without an earlier list there are none. */
async function findUnreported(app: App, row: PolledRepoRow, { heads, known }: Compared): Promise<BranchHead[]> {
  const since = row.polled_at
  if (since === null) return []
  const found: BranchHead[] = []
  for (const head of heads.values()) {
    if (known.get(head.name)?.revision === head.revision) continue
    if (!(await isReported(app.store.query, row, head, since))) found.push(head)
  }
  return found
}

function isReported(
  query: Tx['query'] | App['store']['query'],
  row: PolledRepoRow,
  head: BranchHead,
  since: number,
): Promise<boolean> {
  const { account_id: accountId, repo } = row
  return hasDeliveryOfHead(query, { accountId, repo, branch: head.name, revision: head.revision, since })
}

interface Polled {
  /** The branches that the forge listed. */
  readonly heads: ReadonlyMap<string, BranchHead>
  readonly app: App
  readonly row: PolledRepoRow
  readonly webhook: WebhookRow
  readonly pushes: readonly Push[]
  /** False if more heads changed than `pushes` contains. */
  readonly isComplete: boolean
  /** When the list was requested. */
  readonly startedAt: number
}

/**
 * Stores the heads, and a delivery for each push that is still not reported. The lock makes calls that arrive now wait. Calls that arrived since the list was
 * requested know more than the list: the next poll compares their branches with a newer one.
 */
async function savePoll(tx: Tx, { app, row, webhook, heads, pushes, isComplete, startedAt }: Polled): Promise<void> {
  if (!(await lockPolledRepo(tx, row))) return
  const { webhook_id, repo, account_id } = row
  const stored = await listBranchHeads(tx.query, row)
  const known = liveOf(stored)
  const reported = new Map(pushes.map((push) => [push.name, push]))
  for (const { name: branch, revision } of heads.values()) {
    const before = known.get(branch)
    if (before?.revision === revision) {
      if (before.missing_since !== null) await saveBranchHead(tx, { ...before, missing_since: null })
      continue
    }
    const isKnown = row.polled_at === null || (await isReported(tx.query, row, { name: branch, revision }, row.polled_at))
    const push = isKnown ? undefined : reported.get(branch)
    // The next poll reports it.
    if (!isKnown && push === undefined) continue
    if (!isKnown && (await hasDeliveryOfBranch(tx.query, { accountId: account_id, repo, branch, since: startedAt }))) continue
    if (push !== undefined)
      await insertPolled(tx, app, { webhook, row, branch, revision: push.revision, body: toPushBody(row.name, push) })
    await saveBranchHead(tx, {
      webhook_id,
      repo,
      branch,
      account_id,
      revision,
      polled_base: push?.base ?? null,
      missing_since: null,
      ended_at: null,
    })
  }
  const missing = stored.filter(({ branch }) => !heads.has(branch))
  await noteMissing(tx, { app, row, webhook, heads: missing, startedAt })
  const more = isComplete ? { polled_at: startedAt } : { next_at: startedAt }
  await updatePolledRepo(tx, row, { problem: null, ...more })
}
