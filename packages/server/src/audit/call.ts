/** The call of the API that is being carried out, so that its effect and its record are written in one transaction. */
import { AsyncLocalStorage } from 'node:async_hooks'

/** Who calls, as the audit log shows it. */
export interface Caller {
  readonly kind: string
  readonly id: string
  readonly name: string
  readonly owner?: string | undefined
}

export interface AuditedCall {
  caller: Caller
  /** Method and route. */
  readonly action: string
  /** Path of the call, without secrets. */
  readonly target: string
  readonly address: string
  readonly client: string | undefined
  readonly requestId: string
  detail?: string
  /** True once a transaction with the record was committed. */
  isRecorded: boolean
}

const calls = new AsyncLocalStorage<AuditedCall | undefined>()

/** Runs `work` as the given call. */
export function inCall<T>(call: AuditedCall, work: () => Promise<T>): Promise<T> {
  return calls.run(call, work)
}

/** Runs work that is not the effect of the current call, so that its transactions do not record it. */
export function outsideCall<T>(work: () => Promise<T>): Promise<T> {
  return calls.run(undefined, work)
}

export function currentCall(): AuditedCall | undefined {
  return calls.getStore()
}

/** Sets who calls, for a call whose credential is in its body. Must be called before the transaction of the effect ends. */
export function noteCaller(caller: Caller): void {
  const call = calls.getStore()
  if (call !== undefined) call.caller = caller
}

const MAX_DETAIL = 500

/** Adds to the record what the call is about, unless it already says what changes. Must be called before the transaction of the effect ends. */
export function noteSubject(subject: string): void {
  if (calls.getStore()?.detail === undefined) noteDetail(subject)
}

/** Adds to the record what changes, if the path does not say it. Must be called before the transaction of the effect ends. */
export function noteDetail(detail: string): void {
  const call = calls.getStore()
  if (call !== undefined) call.detail = detail.slice(0, MAX_DETAIL)
}
