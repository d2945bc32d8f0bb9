/** What the call in progress has changed, for the audit log of the control plane: handlers and commits note it, also if the call fails later. */
import { AsyncLocalStorage } from 'node:async_hooks'

/** Length of what the control plane takes. */
const MAX_DETAIL = 500

export interface NotedCall {
  subject?: string
  /** True for a call that only shows what it would change. */
  isDryRun?: boolean
  /** True once something has changed that no commit names, or may have. */
  hasEffect?: boolean
  readonly commits: string[]
}

const calls = new AsyncLocalStorage<NotedCall>()

/** Runs a call whose changes are noted in `call`. */
export function inCall<T>(call: NotedCall, work: () => Promise<T>): Promise<T> {
  return calls.run(call, work)
}

/** Says what the call is about, if its path does not. */
export function noteSubject(subject: string): void {
  const call = calls.getStore()
  if (call !== undefined) call.subject = subject
}

/** Says that the call changes nothing. */
export function noteDryRun(): void {
  const call = calls.getStore()
  if (call !== undefined) call.isDryRun = true
}

/** Says that the call changes something that no commit names, or may have changed it, so that it has a record however it ends. */
export function noteEffect(): void {
  const call = calls.getStore()
  if (call !== undefined) call.hasEffect = true
}

interface NotedCommit {
  /** URL of the repository. */
  readonly repository: string
  readonly branch: string
  readonly revision: string
}

/** Says which commit the call has pushed. */
export function noteCommit({ repository, branch, revision }: NotedCommit): void {
  calls.getStore()?.commits.push(`commit ${revision} on ${branch} of ${repository}`)
}

/** Returns what was noted; undefined if nothing was. */
export function detailOf({ subject, commits }: NotedCall): string | undefined {
  const parts = [subject, ...commits].filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : parts.join('; ').slice(0, MAX_DETAIL)
}
