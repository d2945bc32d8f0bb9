/**
 * Takes the disks that an agent reports. A report replaces the previous one of the agent, except for runtimes whose disks it could not read. A report of an
 * earlier process or with a lower number is ignored, and so is a disk that was removed shortly before (docs/development/adr/0113).
 */
import { fault, newId } from '@windlass/kit'
import { MAX_REPORTED_DISKS, type DiskFacts, type DiskReport } from '@windlass/protocol'
import type { App } from '../app.ts'
import { isOnline, listAgents, lockAgent, updateAgent } from '../store/runtimes/agents.ts'
import { deleteDisks, insertDisks, lockDisks, updateDisk } from '../store/runtimes/disks.ts'
import type { AgentRow, DiskRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'
import { requireEpoch } from '../agents/require-epoch.ts'
import { ensureRemovalJob } from './remove-disk.ts'

/** Rows of an agent for disks that are gone, and for those of clusters that did not answer. The oldest ones beyond it are deleted. */
const MAX_UNREPORTED = MAX_REPORTED_DISKS
/** Size of the stored `failed` of a report. Each election reads the row of the agent. Characters of JSON. */
const MAX_FAILED = 65_536

/** A report is not older than this when it arrives. A disk that is reported later after its removal exists. Milliseconds. */
const OLDEST_REPORT_MS = 5 * 60_000
/** Reports of one process, and processes, that are told apart. The product fits into an integer of PostgreSQL. */
const REPORTS = 10_000_000
const PROCESSES = 200

/** Stores a report. Throws `agent-fenced` for an earlier process. */
export async function takeDiskReport(app: App, agentId: string, report: DiskReport): Promise<void> {
  await requireEpoch(app, agentId, report.epoch)
  await app.store.write(async (tx) => {
    const agent = await lockAgent(tx, agentId)
    if (agent?.epoch !== report.epoch) throw fault('agent-fenced')
    if (isLate(report, agent)) return
    const now = app.clock.now()
    await applyReport(app, tx, { agent, report, now })
    await updateAgent(tx, agentId, {
      disk_seq: numberOf(report),
      disks_at: now,
      disks_hidden: Math.max(0, report.total - report.disks.length),
      disks_failed: shortFailed(report.failed),
    })
  })
}

/**
 * Returns the number of a report among those of all processes of the agent. Each process counts from 1, and a server of an earlier version does not reset the
 * stored number when it greets a new process.
 */
function numberOf({ epoch, seq }: Pick<DiskReport, 'epoch' | 'seq'>): number {
  return (epoch % PROCESSES) * REPORTS + (seq % REPORTS)
}

function isLate(report: DiskReport, { disk_seq: stored }: AgentRow): boolean {
  const first = numberOf({ ...report, seq: 0 })
  return stored >= first && stored < first + REPORTS && numberOf(report) <= stored
}

interface Taken {
  readonly agent: AgentRow
  readonly report: DiskReport
  readonly now: number
}

async function applyReport(app: App, tx: Tx, { agent, report, now }: Taken): Promise<void> {
  const reported = new Map(report.disks.map((disk) => [disk.uid, disk]))
  const rows = await lockDisks(tx, { accountId: app.accountId, agentId: agent.id, uids: [...reported.keys()] })
  const online = new Set(
    (await listAgents(tx.query, app.accountId)).filter((one) => isOnline(one, now, app.timings.agentLeaseMs)).map(({ id }) => id),
  )
  const known = new Set(rows.map(({ uid }) => uid))
  await deleteDisks(tx, beyondLimit(rows, { agent, report }))
  for (const row of rows) {
    const disk = reported.get(row.uid)
    if (row.removed_at !== null && (disk === undefined || now - row.removed_at < OLDEST_REPORT_MS)) continue
    if (disk !== undefined) {
      // Another agent that is connected keeps its disk; a disconnected one may have been replaced.
      if (row.agent_id === agent.id || !online.has(row.agent_id)) await updateIfChanged(tx, row, { agent, disk, now })
    } else if (row.agent_id === agent.id && !isUnread(row, report)) await forget(tx, row, { report, now })
  }
  await insertDisks(
    tx,
    [...reported.values()].filter(({ uid }) => !known.has(uid)).map((disk) => newRow(app, { agent, disk, now })),
  )
}

/** Returns the first ones that fit. */
function shortFailed(failed: DiskReport['failed']): string {
  let length = 2
  return JSON.stringify(failed.filter((one) => (length += JSON.stringify(one).length + 1) <= MAX_FAILED))
}

/** Returns the ids of rows beyond `MAX_UNREPORTED`. */
function beyondLimit(rows: readonly DiskRow[], { agent, report }: Pick<Taken, 'agent' | 'report'>): string[] {
  const reported = new Set(report.disks.map(({ uid }) => uid))
  const isUnreported = (row: DiskRow): boolean => row.removed_at !== null || (!reported.has(row.uid) && isUnread(row, report))
  // Disks that may exist come first.
  const timeOf = ({ removed_at: removedAt }: DiskRow): number => removedAt ?? Infinity
  return rows
    .filter((row) => row.agent_id === agent.id && isUnreported(row))
    .toSorted((one, other) => Number(timeOf(one) < timeOf(other)) - Number(timeOf(one) > timeOf(other)))
    .slice(MAX_UNREPORTED)
    .map(({ id }) => id)
}

/** Whether the report says nothing about the disk because its cluster did not answer. */
function isUnread({ runtime }: DiskRow, { failed }: DiskReport): boolean {
  return failed.some((one) => one.runtime === '' || one.runtime === runtime)
}

/**
 * Handles a disk that the report does not have. One whose removal was expected is gone, unless the report leaves disks out. Another one may belong to another
 * agent now.
 */
async function forget(tx: Tx, row: DiskRow, { report, now }: Omit<Taken, 'agent'>): Promise<void> {
  const isExpected = row.state === 'removing' || row.removal_at !== null
  if (isExpected && report.total === report.disks.length) return updateDisk(tx, row.id, { removed_at: now })
  await deleteDisks(tx, [row.id])
}

interface ReportedDisk {
  readonly agent: AgentRow
  readonly disk: DiskFacts
  readonly now: number
}

/** A disk that came back after its removal is one whose removal was a mistake of an earlier report. Its request is over. */
const BACK: Pick<DiskRow, 'removal_at' | 'removal_by' | 'removal_message' | 'removed_at'> = {
  removal_at: null,
  removal_by: null,
  removal_message: null,
  removed_at: null,
}

async function updateIfChanged(tx: Tx, known: DiskRow, { agent, disk, now }: ReportedDisk): Promise<void> {
  const back = known.removed_at === null ? {} : BACK
  const row = { ...known, ...back }
  const columns = columnsOf(disk)
  // A build that took the disk before the request arrived keeps it.
  const state = row.removal_at !== null && disk.state === 'warm' ? 'removing' : disk.state
  const sinceBefore = state === row.state ? row.state_since : undefined
  // The next build of a disk in use begins a new time.
  const since = (state === disk.state ? disk.since : undefined) ?? sinceBefore ?? row.removal_at ?? now
  // Why a removal was refused no longer applies when the disk is free again.
  const message = row.removal_at === null && state !== row.state ? null : row.removal_message
  const changes = { ...columns, ...back, agent_id: agent.id, state, state_since: since, removal_message: message }
  const isSame = Object.entries(changes).every(([name, value]) => known[name as keyof DiskRow] === value)
  if (!isSame) await updateDisk(tx, row.id, changes)
  // The job of the earlier agent is never taken.
  if (row.agent_id !== agent.id && row.removal_at !== null)
    await ensureRemovalJob(tx, { ...row, ...changes }, { by: row.removal_by ?? '', now })
}

function newRow(app: App, { agent, disk, now }: ReportedDisk): DiskRow {
  return {
    id: newId(now),
    account_id: app.accountId,
    agent_id: agent.id,
    uid: disk.uid,
    ...columnsOf(disk),
    state: disk.state,
    // The last use is the best guess of the time since which a disk of unknown history is free.
    state_since: disk.since ?? (disk.state === 'warm' ? disk.lastUsedAt : undefined) ?? now,
    removal_at: null,
    removal_by: null,
    removal_message: null,
    removed_at: null,
  }
}

function columnsOf(disk: DiskFacts): Pick<DiskRow, 'name' | 'runtime' | 'pipeline_id' | 'build_id' | 'facts'> {
  return {
    name: disk.name,
    runtime: disk.runtime ?? null,
    pipeline_id: disk.pipelineId ?? null,
    build_id: disk.buildId ?? null,
    facts: JSON.stringify(disk),
  }
}
