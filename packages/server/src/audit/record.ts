/** Writes the audit log: a record in the first transaction of each audited call, or after the call if it failed. */
import { defined, sha256, type Clock } from '@windlass/kit'
import { auditText, type AuditRecord } from '@windlass/protocol'
import type { App } from '../app.ts'
import { toFault } from '../http/problem.ts'
import { insertAuditRecord, lockAuditChain } from '../store/access/audit.ts'
import type { Store, Tx } from '../store/store.ts'
import { currentCall, inCall, type AuditedCall } from './call.ts'

interface Place {
  readonly accountId: string
  readonly clock: Clock
}

/** Returns a store that adds the record of the current call to its first transaction, as the last statements of it. */
export function auditedStore(store: Store, place: Place): Store {
  return {
    ...store,
    async write(work) {
      const call = currentCall()
      if (call === undefined) return store.write(work)
      // Writes that share a commit run in the context of the first one.
      if (call.isRecorded) return store.write((tx) => inCall(call, () => work(tx)))
      const value = await store.write(async (tx) => {
        const result = await inCall(call, () => work(tx))
        await addRecord(tx, place, { call, result: 'done' })
        return result
      })
      call.isRecorded = true
      return value
    },
  }
}

interface NewRecord {
  readonly call: AuditedCall
  readonly result: AuditRecord['result']
  readonly code?: string
}

/** Adds a record to the chain. Locks its end until the transaction ends, so it must be the last lock that the transaction takes. */
export async function addRecord(tx: Tx, { accountId, clock }: Place, { call, result, code }: NewRecord): Promise<void> {
  const { caller, action, target, address, client, requestId, detail } = call
  const last = await lockAuditChain(tx, accountId)
  const record: Omit<AuditRecord, 'hash'> = {
    seq: last.seq + 1,
    at: clock.now(),
    kind: caller.kind,
    actorId: caller.id,
    actor: caller.name,
    action,
    target,
    result,
    address,
    requestId,
    ...defined({ owner: caller.owner, code, detail, client }),
  }
  await insertAuditRecord(tx, accountId, { ...record, hash: sha256(auditText(last.hash, { ...record, hash: '' })) })
}

/** Errors of calls that changed nothing because their input was not valid, or because the server was busy. They are not recorded. */
const UNRECORDED: ReadonlySet<number> = new Set([400, 413, 422, 429, 503, 507])

/** Runs a call and records it: its first effect, its refusal, or its failure. */
export async function auditCall<T>(app: App, call: AuditedCall, run: () => Promise<T>): Promise<T> {
  try {
    return await inCall(call, run)
  } catch (error) {
    await recordFailure(app, call, error)
    throw error
  }
}

const MINUTE_MS = 60_000
/** Records of failed and refused calls per minute and caller, so that a caller without rights cannot fill the disk. */
const PER_MINUTE = 60
const MAX_CALLERS = 10_000
const counts = new WeakMap<App, Map<string, { since: number; count: number }>>()

/** Counts a failure. Returns true while the caller has few of them within a minute. */
export function takesFailure(app: App, { caller, address }: AuditedCall): boolean {
  const of = counts.get(app) ?? new Map<string, { since: number; count: number }>()
  counts.set(app, of)
  const key = caller.id === '' ? address : caller.id
  const now = app.clock.monotonic()
  const known = of.get(key)
  if (known !== undefined && now - known.since < MINUTE_MS) return (known.count += 1) <= PER_MINUTE
  if (of.size >= MAX_CALLERS) of.clear()
  of.set(key, { since: now, count: 1 })
  return true
}

/** Records a call that ended with an error. The answer of the call does not depend on it. */
export async function recordFailure(app: App, call: AuditedCall, error: unknown): Promise<void> {
  const { code, status } = toFault(error)
  if (UNRECORDED.has(status) || !takesFailure(app, call)) return
  const result = status === 403 ? 'denied' : 'failed'
  try {
    await app.store.write((tx) => addRecord(tx, app, { call, result, code }))
  } catch (failure) {
    app.log.warn({ err: failure, action: call.action, result }, 'audit record not written')
  }
}
