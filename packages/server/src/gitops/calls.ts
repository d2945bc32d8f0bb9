/**
 * Calls that users make at the app-proxies of GitOps runtimes, for the audit log. Their effects are elsewhere, so no transaction has both: a call is announced before its effect, and the
 * record is written with its end. A call whose end does not come gets a record that says so (docs/development/adr/0147-calls-at-app-proxies.md).
 */
import { defined, fault, newId } from '@windlass/kit'
import type { GitopsCallEnd, GitopsCallStart } from '@windlass/protocol'
import type { App } from '../app.ts'
import { currentCall, outsideCall, type AuditedCall } from '../audit/call.ts'
import { addRecord, recordFailure } from '../audit/record.ts'
import type { Actor } from '../identity/actor.ts'
import { findGitopsRuntime } from '../store/runtimes/gitops.ts'
import {
  deleteRuntimeCall,
  insertRuntimeCall,
  lockLostCalls,
  lockRuntimeCall,
  markCallLost,
} from '../store/runtimes/runtime-calls.ts'
import type { RuntimeCallRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'
import { describeAccess } from './access.ts'
import { unknownRuntime } from './runtimes.ts'

/** An end that has not come after this time is not expected soon: no call takes so long, and app-proxies repeat their reports every 30 s. Milliseconds. */
const LOST_MS = 3_600_000
const LOST_DETAIL =
  'the end is not known, because the GitOps runtime or the server was ended before it said so: check in Git and in Argo CD'
/** Calls per transaction. */
const BATCH = 100
/** A record of a call that began longer ago names that time. Milliseconds. */
const LATE_MS = 60_000

type StoredCall = Omit<AuditedCall, 'isRecorded' | 'detail'>

export interface RuntimeCaller {
  readonly actor: Actor
  readonly caller: AuditedCall['caller']
  /** Name of the runtime. */
  readonly runtime: string
  /** Of the app-proxy. */
  readonly address: string
}

/**
 * Announces a call. Throws like `describeAccess`, `forbidden` without the right, which the audit log has then, and `conflict` for a second call with the same id. The server that sends a
 * pass records its call itself.
 */
export async function beginRuntimeCall(
  app: App,
  { actor, caller, runtime, address }: RuntimeCaller,
  start: GitopsCallStart,
): Promise<void> {
  const { id, right, action, path, requestId, client, runtimeToken } = start
  const { rights } = await describeAccess(app, actor, { runtime, runtimeToken })
  if (actor.kind !== 'key' || actor.onlyAt !== undefined) return
  const call: StoredCall = { caller, action, target: `${runtime}${path}`.slice(0, MAX_TARGET), address, client, requestId }
  if (!rights.includes(right)) {
    const refusal = fault('forbidden', { right })
    await recordFailure(app, { ...call, isRecorded: false }, refusal)
    throw refusal
  }
  const found = (await findGitopsRuntime(app.store.query, app.accountId, runtime)) ?? unknownRuntime(runtime)
  const isNew = await app.store.write((tx) => insert(app, tx, { id, runtimeId: found.id, call }))
  if (!isNew)
    throw fault('conflict', {
      message: `The call ${id} was announced before.`,
      hint: 'Announce each call with an id of its own.',
    })
}

const MAX_TARGET = 300

interface NewCall {
  readonly id: string
  readonly runtimeId: string
  readonly call: StoredCall
}

async function insert(app: App, tx: Tx, { id, runtimeId, call }: NewCall): Promise<boolean> {
  const row = { id, account_id: app.accountId, runtime_id: runtimeId, call: JSON.stringify(call), begun_at: app.clock.now() }
  return insertRuntimeCall(tx, row)
}

/** Records the end of a call. Does nothing for one whose end was recorded before, or that was never announced. */
export async function endRuntimeCall(
  app: App,
  runtimeId: string,
  { id, end }: { readonly id: string; readonly end: GitopsCallEnd },
): Promise<void> {
  await app.store.write(async (tx) => {
    const row = await lockRuntimeCall(tx, runtimeId, id)
    if (row === undefined) return
    await deleteRuntimeCall(tx, id)
    if (end.result === 'nothing') return
    const { result, code } = end
    await addRecord(tx, app, { call: toCall(row, describe(end.detail, row, app.clock.now())), result, ...defined({ code }) })
  })
}

function describe(detail: string | undefined, { begun_at: begunAt }: RuntimeCallRow, now: number): string | undefined {
  if (now - begunAt < LATE_MS) return detail
  const when = `called at ${new Date(begunAt).toISOString()}`
  return detail === undefined ? when : `${detail}; ${when}`
}

function toCall(row: RuntimeCallRow, detail: string | undefined): AuditedCall {
  // Written by `insert`.
  const call = JSON.parse(row.call) as StoredCall
  return { ...call, client: call.client, isRecorded: false, ...defined({ detail }) }
}

/** Writes a record for each call whose end has not come. If it comes later, it gets a record too, with the same request id. */
export async function recordLostCalls(app: App): Promise<void> {
  const { clock, store } = app
  const lost = fault('outcome-unknown')
  for (let count = BATCH; count === BATCH && !app.closing.aborted;) {
    count = await store.write(async (tx) => {
      const rows = await lockLostCalls(tx, { before: clock.now() - LOST_MS, limit: BATCH })
      for (const row of rows) {
        await markCallLost(tx, row.id, clock.now())
        const call = toCall(row, describe(LOST_DETAIL, row, clock.now()))
        await addRecord(tx, app, { call, result: 'failed', code: lost.code })
      }
      return rows.length
    })
  }
}

/**
 * Announces the current call of this server before it has an effect at a runtime, so that it has a record even if this process is killed. Returns a function that ends the announcement, in
 * the transaction that writes the record of the call.
 */
export async function announceOwnCall(app: App, runtimeId: string): Promise<(tx: Tx) => Promise<void>> {
  const call = currentCall()
  if (call === undefined) return async () => undefined
  const { isRecorded: _isRecorded, detail: _detail, ...stored } = call
  const id = newId(app.clock.now())
  await outsideCall(() => app.store.write((tx) => insert(app, tx, { id, runtimeId, call: stored })))
  return (tx) => deleteRuntimeCall(tx, id)
}
