/** What is reported about a build. The messages are stored in the transactions that change it. */
import { isFinalBuild } from '@windlass/plan'
import { COMMIT_STATES, type Build } from '@windlass/protocol'
import { z } from 'zod'
import { findBuild, findCommitTarget } from '../store/builds/builds.ts'
import { findMessageByKey, putMessage } from '../store/messages.ts'
import type { BuildRow } from '../store/schema/schema.ts'
import type { Query, Tx } from '../store/store.ts'
import { CommitTarget, MAX_TEXT } from './commit-target.ts'

/** Body of the message. */
export const StatusMessage = CommitTarget.omit({ first: true }).extend({
  state: z.enum(COMMIT_STATES),
  description: z.string(),
})
type StatusMessage = z.infer<typeof StatusMessage>

interface Report {
  readonly build: BuildRow
  readonly target: CommitTarget
  readonly now: number
}

/**
 * Stores what is to be sent about the current state of a build. Does nothing if that is what was stored last, or if a later build that repeats this one reports
 * in its place. Builds get their numbers one after the other, so the last one wins in whatever order the transactions of two builds commit.
 */
export async function reportBuild(tx: Tx, { build, target: { first, ...target }, now }: Report): Promise<void> {
  const message = {
    accountId: build.account_id,
    key: keyOf(build.id, first),
    kind: 'commit-status',
    buildId: build.id,
    subject: `${target.title} at ${target.repo}@${target.revision.slice(0, 8)} (${target.forge})`,
    body: StatusMessage.parse({ ...target, ...statusOf(build) }),
    now,
  } as const
  await putMessage(tx, message, async ({ build_id: id }) => id === null || !(await isLater(tx.query, id, build)))
}

/** Returns true if `id` is a later build than `build`. */
async function isLater(query: Query, id: string, build: BuildRow): Promise<boolean> {
  if (id === build.id) return false
  return ((await findBuild(query, build.account_id, id))?.number ?? 0) > build.number
}

/** Stores what is to be sent after a change of a build, if it is reported and the change is one that forges show. */
export async function reportChange(tx: Tx, before: Pick<BuildRow, 'status'>, build: BuildRow, now: number): Promise<void> {
  if (build.status === before.status || (!isShown(build) && !isShown(before))) return
  const stored = await findCommitTarget(tx.query, build.id)
  if (stored === undefined) return
  await reportBuild(tx, { build, target: CommitTarget.parse(JSON.parse(stored)), now })
}

function isShown({ status }: Pick<BuildRow, 'status'>): boolean {
  return isFinalBuild(status) || status === 'pending-approval'
}

function keyOf(buildId: string, first: string | undefined): string {
  return `commit-status:${first ?? buildId}`
}

function statusOf({ status, message }: BuildRow): Pick<StatusMessage, 'state' | 'description'> {
  if (status === 'pending-approval') return { state: 'pending', description: short(message ?? 'The build waits for approval.') }
  if (!isFinalBuild(status)) return { state: 'pending', description: 'The build has not ended.' }
  if (status === 'success') return { state: 'success', description: 'The build succeeded.' }
  if (status === 'error') return { state: 'failure', description: short(message ?? 'The build failed.') }
  return { state: 'error', description: short(message ?? 'The build was terminated.') }
}

function short(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text
}

/** Returns the commit status of a build for the API. Undefined if it is not reported, or a later build reports in its place. */
export async function showCommitStatus(
  query: Query,
  build: Pick<BuildRow, 'id' | 'account_id'>,
  stored: string,
): Promise<Build['commitStatus']> {
  const { first } = CommitTarget.parse(JSON.parse(stored))
  const message = await findMessageByKey(query, build.account_id, keyOf(build.id, first))
  if (message?.build_id !== build.id) return undefined
  const { state } = StatusMessage.parse(JSON.parse(message.body))
  return { state, message: message.state, ...(message.problem !== null && { problem: message.problem }) }
}
