/** Removal of disks: the server stores the request, and the agent carries it out when it is connected. */
import { fault } from '@windlass/kit'
import type { DiskRemoval, JobResult } from '@windlass/protocol'
import type { App } from '../app.ts'
import { readUntil } from '../read-until.ts'
import { findAgentById } from '../store/runtimes/agents.ts'
import { ensureJob, findJob, jobTopic } from '../store/runtimes/agent-jobs.ts'
import { lockDisk, updateDisk } from '../store/runtimes/disks.ts'
import type { AgentJobRow, DiskRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'
import { findBuildOf, isAgentOnline, requireDisk, waitsForAgent } from './show-disks.ts'

/** How long the call waits for the agent. Milliseconds. */
const WAIT_MS = 5_000

export interface RemovalCall {
  readonly by: string
  readonly signal: AbortSignal
}

/**
 * Requests the removal of a disk, and waits shortly for the agent. A repeated call waits for the same request. Throws `not-found`, and `disk-in-use` with the
 * number of the build.
 */
export async function removeDisk(app: App, name: string, { by, signal }: RemovalCall): Promise<DiskRemoval> {
  const known = await requireDisk(app, name)
  if (known.removed_at !== null) return { outcome: 'removed', message: 'The disk does not exist any more.' }
  if (known.state === 'in-use') throw await inUse(app, known)
  const requested = await app.store.write((tx) => request(app, tx, { id: known.id, by }))
  // A report said at the same time that a build has taken it.
  if (requested === undefined) throw await inUse(app, known)
  const agent = await findAgentById(app.store.query, known.agent_id)
  if (!isAgentOnline(app, agent)) return { outcome: 'waiting', message: waitsForAgent(agent?.name ?? known.agent_id) }
  const job = await readUntil(app, {
    topic: jobTopic(requested.id),
    waitMs: WAIT_MS,
    signal,
    read: () => findJob(app.store.query, requested.id),
    // A failed removal is repeated later; its message is the answer for now.
    isDone: (one) => one === undefined || one.done_at !== null || one.failures > 0,
  })
  const after = await requireDisk(app, known.id)
  if (after.removed_at !== null) return { outcome: 'removed', message: 'The disk was removed.' }
  if (after.removal_at === null) throw await inUse(app, after)
  if (job?.status === 'done') return { outcome: 'requested', message: after.removal_message ?? 'The cluster removes the disk.' }
  return { outcome: 'waiting', message: job?.message ?? 'The agent has not answered yet. The disk is removed when it does.' }
}

async function request(app: App, tx: Tx, { id, by }: { id: string; by: string }): Promise<AgentJobRow | undefined> {
  const row = await lockDisk(tx, id)
  if (row === undefined) throw fault('not-found', { message: 'The disk does not exist any more.' })
  if (row.state === 'in-use') return undefined
  const now = app.clock.now()
  const changes: Partial<DiskRow> = {
    ...(row.removal_at === null && { removal_at: now, removal_by: by, removal_message: null }),
    ...(row.state === 'warm' && { state: 'removing', state_since: now }),
  }
  if (Object.keys(changes).length > 0) await updateDisk(tx, id, changes)
  return ensureRemovalJob(tx, row, { by, now })
}

/** Creates the job of a requested removal for the agent of the disk, or returns the open one. */
export async function ensureRemovalJob(
  tx: Tx,
  row: Pick<DiskRow, 'id' | 'account_id' | 'agent_id' | 'name' | 'uid' | 'runtime'>,
  { by, now }: { readonly by: string; readonly now: number },
): Promise<AgentJobRow> {
  return ensureJob(tx, {
    account_id: row.account_id,
    agent_id: row.agent_id,
    kind: 'remove-disk',
    subject: row.id,
    payload: { name: row.name, uid: row.uid, runtime: row.runtime ?? '' },
    requested_by: by,
    now,
  })
}

async function inUse(app: App, row: DiskRow): Promise<Error> {
  const build = await findBuildOf(app, row)
  const who = build === undefined ? 'A build' : `Build ${build.number}${build.pipeline === null ? '' : ` of ${build.pipeline}`}`
  return fault('disk-in-use', {
    message: `${who} uses the disk ${row.name}.`,
    hint: build === undefined ? 'Wait for its end.' : `Wait for its end, or terminate it: \`windlass terminate ${build.id}\`.`,
  })
}

/** Stores why the agent could not remove a disk. It tries again. */
export async function noteFailedRemoval(tx: Tx, { subject }: AgentJobRow, message: string): Promise<void> {
  await updateDisk(tx, subject, { removal_message: `The removal failed and is tried again: ${message}` })
}

/** Applies what the agent answered. */
export async function takeRemoval(
  tx: Tx,
  { subject }: AgentJobRow,
  { result, now }: { readonly result: Extract<JobResult, { kind: 'remove-disk' }>; readonly now: number },
): Promise<void> {
  const row = await lockDisk(tx, subject)
  if (row === undefined) return
  const { outcome, message, buildId } = result
  if (outcome === 'gone') return updateDisk(tx, row.id, { removed_at: now, state: 'removing', removal_message: message })
  if (outcome === 'requested') return updateDisk(tx, row.id, { removal_message: message })
  await updateDisk(tx, row.id, {
    state: 'in-use',
    state_since: now,
    removal_at: null,
    removal_by: null,
    removal_message: `The removal was refused: ${message}`,
    ...(buildId !== undefined && { build_id: buildId }),
  })
}
