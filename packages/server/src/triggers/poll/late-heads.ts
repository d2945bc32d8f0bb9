/** Calls that report a push, or the end of a branch, that polling has found before: they come late, and report the same event. */
import { parseJson } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import type { ForgeEvent } from '../../forges/event.ts'
import { deleteBranchHead, listPolledHeads, lockPolledRepo, saveBranchHead } from '../../store/triggers/branch-heads.ts'
import type { Tx } from '../../store/store.ts'

/**
 * Returns the pushes of a call that polling has reported, as JSON: branch -> commit before the push, or the end, that polling saw. Null if there are none. A push that
 * leaves such a head ends this: if a later push returns to the head, it is a new event.
 */
export async function noteHeads(tx: Tx, accountId: string, events: readonly ForgeEvent[]): Promise<string | null> {
  const pushes = events.filter(isPushOfBranch)
  const [first] = pushes
  if (first === undefined) return null
  const of = { account_id: accountId, repo: first.repo.toLowerCase() }
  if (!(await lockPolledRepo(tx, of))) return null
  const late: [branch: string, base: string][] = []
  for (const head of await listPolledHeads(tx.query, of)) {
    const push = pushes.find(({ branch }) => branch === head.branch)
    if (push === undefined) continue
    if (head.ended_at !== null) {
      if (isEnd(push)) late.push([head.branch, head.revision])
      // A branch with this name begins.
      else await deleteBranchHead(tx, head)
    } else if (push.revision === head.revision) late.push([head.branch, head.polled_base ?? ''])
    else if (push.base === head.revision) await saveBranchHead(tx, { ...head, polled_base: null })
  }
  return late.length === 0 ? null : JSON.stringify(Object.fromEntries(late))
}

function isPushOfBranch(event: ForgeEvent): boolean {
  const [name] = event.names
  return name === 'push.heads' || name === 'push.newBranch' || isEnd(event)
}

function isEnd({ names: [name] }: ForgeEvent): boolean {
  return name === 'push.deleteBranch'
}

/** Returns what tells an event apart from others of its branch and commit. That of a late push is that of the event that polling reported. */
export function identityOf(event: ForgeEvent, lateHeads: string | null): { readonly name: string; readonly occurrence: string } {
  const { names, occurrence, branch = '' } = event
  const late = lateHeads === null ? undefined : parseJson(lateHeads)
  const base = isPushOfBranch(event) && isRecord(late) && Object.hasOwn(late, branch) ? late[branch] : undefined
  if (typeof base !== 'string') return { name: names[0], occurrence }
  if (isEnd(event)) return { name: names[0], occurrence: base }
  return { name: base === '' ? 'push.newBranch' : 'push.heads', occurrence: base }
}
