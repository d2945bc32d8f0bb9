/**
 * Calls that users make at the app-proxies of GitOps runtimes, for the audit log. Their effects are elsewhere, so no transaction has both: a call is announced before its effect, and the
 * record is written with its end. A call whose end does not come gets a record that says so (docs/development/adr/0147-calls-at-app-proxies.md).
 */
import { attempt, defined, fault, newId, parseJson } from '@windlass/kit'
import type { GitopsCallEnd, GitopsCallStart } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { currentCall, outsideCall, type AuditedCall } from '../audit/call.ts'
import { addRecord, recordFailure, takesFailure } from '../audit/record.ts'
import type { Actor } from '../identity/actor.ts'
import { requireScope } from '../identity/scopes.ts'
import { findGitopsRuntime } from '../store/runtimes/gitops.ts'
import {
  countOpenCalls,
  deleteRuntimeCall,
  deleteSurplusLostCalls,
  insertRuntimeCall,
  listLostCalls,
  lockLostCall,
  lockRuntimeCall,
  markCallLost,
  type LostCall,
} from '../store/runtimes/runtime-calls.ts'
import type { RuntimeCallRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'
import { describeAccess } from './access.ts'
import { unknownRuntime } from './runtimes.ts'

/** An end that has not come after this time is not expected soon: no call takes so long, and app-proxies repeat their reports every 30 s. Milliseconds. */
const LOST_MS = 3_600_000
const LOST_DETAIL =
  'the end is not known, because the GitOps runtime or the server was ended before it said so: check in Git and in Argo CD'
/** Calls of one runtime whose end has not come. An app-proxy has a few in progress, and refuses changes while it cannot report 1,000 ends, so a runtime with more is lost or hostile. */
const MAX_OPEN = 1_000
/** Lost calls of one runtime whose end may still come. The oldest ones make room. */
const MAX_LOST = 1_000
/** Longest target of a record. Characters. */
const MAX_TARGET = 300
/** Lost calls that are listed at once. */
const PAGE = 100
/** A record of a call that began longer ago names that time. Milliseconds. */
const LATE_MS = 60_000

/** A call in its row. */
const StoredCall = z.object({
  caller: z.object({ kind: z.string(), id: z.string(), name: z.string(), owner: z.string().optional() }),
  action: z.string(),
  target: z.string(),
  address: z.string(),
  client: z.string().optional(),
  requestId: z.string(),
})
type StoredCall = z.infer<typeof StoredCall>

export interface RuntimeCaller {
  readonly actor: Actor
  readonly caller: AuditedCall['caller']
  /** Name of the runtime. */
  readonly runtime: string
  /** Of the app-proxy. */
  readonly address: string
}

/**
 * Announces a call that changes something. Throws like `describeAccess`, `scope-missing` and `forbidden`, which the audit log has then, `rate-limited` while too many calls of the
 * runtime have no end, and `conflict` for a second call with the same id. The server that sends a pass records its call itself.
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
  try {
    requireScope(actor, 'gitops:write')
    if (!rights.includes(right)) throw fault('forbidden', { right })
  } catch (refusal) {
    await recordFailure(app, toCall(call), refusal)
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

interface NewCall {
  readonly id: string
  readonly runtimeId: string
  readonly call: StoredCall
}

/** Throws `rate-limited`. Announcements at the same time may exceed the limit by their number. */
async function insert(app: App, tx: Tx, { id, runtimeId, call }: NewCall): Promise<boolean> {
  if ((await countOpenCalls(tx.query, runtimeId)) >= MAX_OPEN)
    throw fault('rate-limited', {
      message: `The ends of ${MAX_OPEN} calls at the GitOps runtime are not known, so no other call can change something.`,
      hint: 'Check that its app-proxy runs and reaches the server. The audit log takes a call for lost after an hour, which makes room.',
      retryAfter: 60,
    })
  const row = { id, account_id: app.accountId, runtime_id: runtimeId, call: JSON.stringify(call), begun_at: app.clock.now() }
  return insertRuntimeCall(tx, row)
}

/**
 * Records the end of a call. Does nothing for one whose end was recorded before, or that was never announced. Failures without an effect count for the limit of failures of their
 * caller, as those at the server do.
 */
export async function endRuntimeCall(
  app: App,
  runtimeId: string,
  { id, end }: { readonly id: string; readonly end: GitopsCallEnd },
): Promise<void> {
  /** The transaction may run more than once. */
  let isTaken: boolean | undefined
  const isRead = await app.store.write(async (tx) => {
    const row = await lockRuntimeCall(tx, runtimeId, id)
    if (row === undefined) return true
    await deleteRuntimeCall(tx, id)
    if (end.result === 'nothing') return true
    const stored = readCall(row)
    if (stored === undefined) return false
    const call = toCall(stored, describe(end.detail, row, app.clock.now()))
    const { result, code } = end
    isTaken ??= result === 'done' || end.hasEffect === true || takesFailure(app, call)
    if (isTaken) await addRecord(tx, app, { call, result, ...defined({ code }) })
    return true
  })
  if (!isRead) warnOfUnread(app, id)
}

function describe(detail: string | undefined, { begun_at: begunAt }: RuntimeCallRow, now: number): string | undefined {
  if (now - begunAt < LATE_MS) return detail
  const when = `called at ${new Date(begunAt).toISOString()}`
  return detail === undefined ? when : `${detail}; ${when}`
}

function toCall(call: StoredCall, detail?: string): AuditedCall {
  return { ...call, client: call.client, isRecorded: false, ...defined({ detail }) }
}

/** Undefined for a row that `insert` has not written so. */
function readCall({ call }: RuntimeCallRow): StoredCall | undefined {
  return StoredCall.safeParse(parseJson(call)).data
}

function warnOfUnread({ log }: App, id: string): void {
  log.error({ call: id }, 'the audit log lacks a call at an app-proxy, because its row cannot be read')
}

/**
 * Writes a record for each call whose end has not come. If it comes later, it gets a record too, with the same request id. Each call has a transaction of its own: one whose record
 * fails is tried again the next time, and one that cannot be read is logged and set aside.
 */
export async function recordLostCalls(app: App): Promise<void> {
  const { clock, closing, log, store } = app
  const before = clock.now() - LOST_MS
  let after: LostCall = { id: '', begun_at: 0 }
  for (let count = PAGE; count === PAGE && !closing.aborted;) {
    const lost = await listLostCalls(store.query, { before, after, limit: PAGE })
    for (const { id } of lost) await attempt(log, `record of the lost call ${id}`, () => recordLostCall(app, id))
    after = lost.at(-1) ?? after
    count = lost.length
  }
}

async function recordLostCall(app: App, id: string): Promise<void> {
  const { clock, store } = app
  const isRead = await store.write(async (tx) => {
    const row = await lockLostCall(tx, id)
    // Its end has come, or another server has recorded it.
    if (row === undefined) return true
    await markCallLost(tx, id, clock.now())
    await deleteSurplusLostCalls(tx, row.runtime_id, MAX_LOST)
    const stored = readCall(row)
    if (stored === undefined) return false
    const call = toCall(stored, describe(LOST_DETAIL, row, clock.now()))
    await addRecord(tx, app, { call, result: 'failed', code: fault('outcome-unknown').code })
    return true
  })
  if (!isRead) warnOfUnread(app, id)
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
