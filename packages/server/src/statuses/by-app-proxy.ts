/**
 * Commit statuses at a forge that only an app-proxy reaches: an errand that belongs to the message. A try of the message waits for its result for a while; what is not done
 * by then is found by the next try. An errand that an app-proxy has is never overtaken by a later status of the same build.
 */
import { newId } from '@windlass/kit'
import { ErrandResult, type CommitState, type ProxyIntegration, type StatusErrand } from '@windlass/protocol'
import type { App } from '../app.ts'
import type { Sent } from '../outbox/sender.ts'
import { deleteErrands, errandResultTopic, insertErrand, listErrands } from '../store/runtimes/errands.ts'
import { findGitopsRuntime } from '../store/runtimes/gitops.ts'
import type { ErrandRow } from '../store/schema/schema.ts'

/** How long one try waits for the app-proxy. Senders have 50 s. Milliseconds. */
const WAIT_MS = 15_000
/** When a message whose app-proxy is away is tried again. Milliseconds. */
const AWAY_MS = 10_000

interface ProxyStatus {
  readonly messageId: string
  readonly appProxy: ProxyIntegration
  readonly status: {
    readonly repo: string
    readonly revision: string
    readonly title: string
    readonly url: string
    readonly state: CommitState
    readonly description: string
  }
}

export async function sendByAppProxy(app: App, { messageId, appProxy, status }: ProxyStatus): Promise<Sent> {
  const { store, clock, accountId, closing } = app
  const runtime = await findGitopsRuntime(store.query, accountId, appProxy.runtime)
  if (runtime === undefined)
    return { problem: `There is no app-proxy "${appProxy.runtime}". Install it, or connect the repository again.` }
  const { repo, revision, title, url, state, description } = status
  const errand = { kind: 'status', integration: appProxy.integration, repo, revision, title, url, state, description } as const
  const work = JSON.stringify(errand satisfies StatusErrand)
  using watch = store.watch(errandResultTopic(messageId))
  const until = clock.monotonic() + WAIT_MS
  for (;;) {
    const rows = await listErrands(store.query, messageId)
    const own = rows.find((row) => row.work === work)
    if (own?.result !== undefined && own.result !== null) return finish(app, rows, own.result)
    const isBusy = rows.some((row) => row !== own && row.state === 'taken' && row.due_at > clock.now())
    if (own === undefined && !isBusy) {
      await replace(app, rows, { runtimeId: runtime.id, messageId, work })
      continue
    }
    const rest = until - clock.monotonic()
    if (rest <= 0 || closing.aborted) break
    await watch.next(Math.min(rest, store.pollMs), closing)
  }
  return {
    problem: `Waits for the app-proxy "${appProxy.runtime}", which has not set the status yet.`,
    mayRetry: true,
    afterMs: AWAY_MS,
  }
}

interface NewErrand {
  readonly runtimeId: string
  readonly messageId: string
  readonly work: string
}

/** Stores the errand of the current status, and deletes those of earlier ones. */
async function replace({ store, clock, accountId }: App, earlier: readonly ErrandRow[], errand: NewErrand): Promise<void> {
  const now = clock.now()
  const ids = earlier.map(({ id }) => id)
  const { runtimeId, messageId, work } = errand
  await store.write(async (tx) => {
    // One that an app-proxy has just taken stays, and is looked at again.
    if ((await deleteErrands(tx, ids, now)) < ids.length) return
    const row = { id: newId(now), account_id: accountId, runtime_id: runtimeId, release_id: messageId, work }
    await insertErrand(tx, { ...row, due_at: now, created_at: now })
  })
}

async function finish({ store, clock }: App, rows: readonly ErrandRow[], text: string): Promise<Sent> {
  const ids = rows.map(({ id }) => id)
  await store.write((tx) => deleteErrands(tx, ids, clock.now()))
  const result = ErrandResult.parse(JSON.parse(text))
  if (result.kind !== 'failed') return { problem: null }
  const { message, hint, mayRetry } = result
  return { problem: hint === undefined ? message : `${message} ${hint}`, mayRetry }
}
