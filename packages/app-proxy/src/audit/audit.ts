/**
 * The part of an app-proxy in the audit log of the control plane. A call that changes something is announced before its effect with the token of its caller, so the control plane knows who
 * it is, and has a record even if this process is killed (docs/development/adr/0147-calls-at-app-proxies.md).
 */
import { appProxyCalls } from '@windlass/client/app-proxy'
import { defined, fault, isAbort, isFault, newId, type Clock, type Logger } from '@windlass/kit'
import type { Client, GitopsCallEnd, GitopsCallStart } from '@windlass/protocol'
import type { Access } from '../access/access.ts'
import { requireRight, requireWriting } from '../access/caller.ts'
import { detailOf, inCall, type NotedCall } from './call.ts'
import type { CallEnds } from './call-ends.ts'

/** As long as the control plane has for the rights of a caller. Milliseconds. */
const BEGIN_MS = 2_000
/** Answers of the control plane to a caller without the right. */
const REFUSALS = ['unauthenticated', 'forbidden', 'scope-missing'] as const

export type AuditedCall = Pick<GitopsCallStart, 'right' | 'action' | 'path' | 'requestId' | 'client'>

export interface Audit {
  /** Runs a call between its announcement and its end. Throws `control-plane-unreachable` and `rate-limited` before the call, and what the call throws. */
  run<T>(key: string, call: AuditedCall, work: () => Promise<T>): Promise<T>
  /** Lets the control plane record that a caller did not have the right. */
  refused(key: string, call: AuditedCall): Promise<void>
}

export interface AuditOptions {
  /** Of the control plane, without a token. */
  readonly client: Client
  readonly runtime: string
  readonly runtimeToken: () => string
  readonly access: Access
  readonly ends: CallEnds
  readonly clock: Clock
  readonly log: Logger
}

export function openAudit({ client, runtime, runtimeToken, access, ends, clock, log }: AuditOptions): Audit {
  let isOld = false

  /** A caller whose rights were taken away a moment ago is refused as every other one. */
  async function refuse(key: string, { right }: AuditedCall, error: unknown): Promise<never> {
    if (isFault(error, ...REFUSALS)) {
      access.forget(key)
      const caller = await access.callerOf(key)
      requireWriting(caller)
      requireRight(caller, right)
    }
    throw error
  }

  /** Returns false if the control plane has no audit log for calls at app-proxies. */
  async function begin(key: string, id: string, call: AuditedCall): Promise<boolean> {
    try {
      const calls = appProxyCalls(client.withToken(key))
      await calls.beginCall(runtime, { ...call, id, runtimeToken: runtimeToken() }, { timeoutMs: BEGIN_MS })
      return true
    } catch (error) {
      if (isFault(error, ...REFUSALS)) throw error
      if (isFault(error, 'runtime-token-invalid')) throw fault('control-plane-refused', { message: error.message }, error)
      // It was not announced.
      if (isFault(error, 'rate-limited'))
        throw fault('rate-limited', { ...error.details, message: `Nothing was changed. ${error.message}` }, error)
      if (isFault(error, 'not-found', 'not-supported')) {
        if (!isOld) log.warn('the server is of an earlier version: its audit log does not have the calls at this app-proxy')
        isOld = true
        return false
      }
      // It may have been announced, and has not begun.
      ends.add(id, { result: 'nothing' })
      const why = isFault(error) ? ` ${error.message}` : ''
      throw fault(
        'control-plane-unreachable',
        { message: `The control plane cannot record the call, so nothing was changed.${why}` },
        error,
      )
    }
  }

  return {
    async run(key, call, work) {
      ends.requireRoom()
      const id = newId(clock.now())
      const noted: NotedCall = { commits: [] }
      const isAnnounced = await begin(key, id, call).catch((error: unknown) => refuse(key, call, error))
      try {
        const value = await inCall(noted, work)
        if (isAnnounced) ends.add(id, endOf(noted))
        return value
      } catch (error) {
        if (isAnnounced) ends.add(id, endOf(noted, error))
        throw error
      }
    },
    async refused(key, call) {
      // The answer of the control plane is the refusal.
      await begin(key, newId(clock.now()), call).catch(() => undefined)
    },
  }
}

/** Errors of calls whose input was not valid. */
const INVALID: ReadonlySet<number> = new Set([400, 413, 422])

function endOf(noted: NotedCall, error?: unknown): GitopsCallEnd {
  const hasEffect = noted.commits.length > 0 || noted.hasEffect === true
  const isInvalid = isFault(error) && INVALID.has(error.status)
  if (!hasEffect && (noted.isDryRun === true || isInvalid)) return { result: 'nothing' }
  const detail = detailOf(noted)
  if (error === undefined) return { result: 'done', ...defined({ detail }) }
  const facts: Pick<GitopsCallEnd, 'detail' | 'hasEffect'> = { ...defined({ detail }), ...(hasEffect && { hasEffect }) }
  if (isFault(error)) return { result: error.status === 403 ? 'denied' : 'failed', code: error.code, ...facts }
  return { result: 'failed', code: isAbort(error) ? 'unavailable' : 'internal', ...facts }
}
