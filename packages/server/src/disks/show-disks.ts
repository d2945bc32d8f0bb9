/** Disks as callers see them. */
import { defined, fault, isId } from '@windlass/kit'
import { DiskFacts, labelValue, type Disk, type DiskPage, type DiskQuery, type DiskReport } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { foreignCursor } from '../store/cursor.ts'
import { findPipeline } from '../store/pipelines/pipelines.ts'
import { isOnline, listAgents } from '../store/runtimes/agents.ts'
import { countDisks, findDiskBuilds, findDisks, listDisks, type DiskBuild, type NamedDisk } from '../store/runtimes/disks.ts'
import { listRuntimes } from '../store/runtimes/runtimes.ts'
import type { AgentRow, DiskRow, RuntimeRow } from '../store/schema/schema.ts'
import { usersOf } from './disk-users.ts'

/** Returns a page of disks. Throws `request-invalid` for a cursor of another list. */
export async function listDiskPage(app: App, query: z.output<typeof DiskQuery>): Promise<DiskPage> {
  const { accountId, store } = app
  const { cursor, limit, runtime, pipeline, state } = query
  if (cursor !== undefined && !isId(cursor)) throw foreignCursor()
  const runtimes = runtime === undefined ? undefined : [runtime, labelValue(runtime)]
  const found = pipeline === undefined ? undefined : await findPipeline(store.query, accountId, pipeline)
  const pipelineId = pipeline === undefined ? undefined : (found?.id ?? pipeline)
  const filter = { accountId, runtimes, pipelineId, state, after: cursor, limit: limit + 1 }
  const rows = await listDisks(store.query, filter)
  const items = await toDisks(app, rows.slice(0, limit))
  const counted = await countDisks(store.query, { accountId, runtimes })
  const agents = await listAgents(store.query, accountId)
  return {
    items,
    counts: Object.fromEntries(counted),
    problems: agents.flatMap((agent) => problemsOf(agent, runtime)),
    notReported: agents.reduce((sum, agent) => sum + agent.disks_hidden, 0),
    ...defined({ next: rows.length > limit ? items.at(-1)?.id : undefined }),
  }
}

/** Finds a disk by id or name. Throws `not-found`, and `conflict` for a name that several clusters have. */
export async function requireDisk(app: App, name: string): Promise<DiskRow> {
  const [found, other] = await findDisks(app.store.query, app.accountId, name)
  if (found === undefined) throw fault('not-found', { message: `The disk "${name}" does not exist.` })
  if (other !== undefined)
    throw fault('conflict', { message: `Several disks have the name "${name}".`, hint: 'Use the id of the disk.' })
  return found
}

/** Returns the build that uses a disk, or used it last. */
export async function findBuildOf(app: App, { build_id: id }: Pick<DiskRow, 'build_id'>): Promise<DiskBuild | undefined> {
  return id === null ? undefined : (await findDiskBuilds(app.store.query, [id]))[0]
}

async function toDisks(app: App, rows: readonly NamedDisk[]): Promise<Disk[]> {
  const { query } = app.store
  const builds = await findDiskBuilds(
    query,
    rows.flatMap(({ build_id: id }) => id ?? []),
  )
  const byId = new Map(builds.map((build) => [build.of, build]))
  const runtimes = await listRuntimes(query, app.accountId)
  const names = await usersOf(app, rows.map(readFacts))
  return rows.map((row, index) => toDisk(app, row, { build: byId.get(row.build_id ?? ''), runtimes, usableBy: names[index] }))
}

function readFacts({ facts }: Pick<DiskRow, 'facts'>): DiskFacts {
  return DiskFacts.parse(JSON.parse(facts))
}

interface Around {
  readonly build: DiskBuild | undefined
  readonly runtimes: readonly RuntimeRow[]
  readonly usableBy: string | undefined
}

function toDisk(app: App, row: NamedDisk, { build, runtimes, usableBy }: Around): Disk {
  const { uid: _uid, buildId: _build, pipelineId: _pipeline, runtime: label, message, ...facts } = readFacts(row)
  const runtime = runtimes.find(({ name }) => name === label) ?? runtimes.find(({ name }) => labelValue(name) === label)
  return {
    ...facts,
    id: row.id,
    agent: row.agent,
    state: row.state,
    since: row.state_since,
    reportedAt: row.disks_at ?? 0,
    ...defined({
      runtime: runtime?.name ?? label,
      message: messageOf(app, row) ?? message,
      usableBy,
      build: build && { id: build.id, number: build.number, ...defined({ pipeline: build.pipeline ?? undefined }) },
      removal: row.removal_at === null ? undefined : { requestedAt: row.removal_at, requestedBy: row.removal_by ?? '' },
    }),
  }
}

/** Says what keeps a requested removal, or what became of it. */
function messageOf(app: App, row: NamedDisk): string | undefined {
  const isPending = row.removal_at !== null && row.state === 'removing'
  if (isPending && !isAgentOnline(app, row)) return waitsForAgent(row.agent)
  return row.removal_message ?? undefined
}

const Failed = z.array(z.object({ runtime: z.string(), message: z.string() }))

function problemsOf(agent: AgentRow, runtime: string | undefined): DiskPage['problems'] {
  const failed: DiskReport['failed'] = agent.disks_failed === null ? [] : Failed.parse(JSON.parse(agent.disks_failed))
  return failed
    .filter(({ runtime: name }) => runtime === undefined || name === '' || name === runtime)
    .map((one) => ({ agent: agent.name, ...one }))
}

/** Whether the agent of a disk is connected. */
export function isAgentOnline(app: App, agent: Pick<AgentRow, 'last_seen_at'> | undefined): boolean {
  return agent !== undefined && isOnline(agent, app.clock.now(), app.timings.agentLeaseMs)
}

/** Says that a requested removal waits for its agent. */
export function waitsForAgent(agent: string): string {
  return `Agent "${agent}" is not connected. It removes the disk when it connects again.`
}
