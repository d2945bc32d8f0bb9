/** What the limits leave for waiting builds, read from rows under lock, and what stands in the way of each build. */
import { REASONS } from '@windlass/plan'
import type { App } from '../app.ts'
import { isOnline, listAgents } from '../store/agents.ts'
import type { AccountSettings } from '@windlass/protocol'
import { readAccountSettings } from '../account/settings.ts'
import { countLiveAttempts, countWaitingForApproval } from '../store/attempts.ts'
import { lockLimitedPipelines } from '../store/pipelines.ts'
import { lockRuntimes } from '../store/runtimes.ts'
import type { AgentRow, PipelineRow, RuntimeRow } from '../store/schema.ts'
import type { Tx } from '../store/store.ts'
import type { Cause } from './edit.ts'
import { readSpec } from './limits.ts'

export interface Room {
  /** By name. */
  readonly runtimes: ReadonlyMap<string, Place>
  /** Those that have limits and builds waiting, by id. */
  readonly pipelines: ReadonlyMap<string, PipelineRow>
  readonly defaultRuntime: string | undefined
  readonly account: AccountSettings
  /** Live attempts, and builds that count although they wait for approval, by what they count against: see `keysOf`. */
  readonly used: Map<string, number>
}

export interface Place {
  readonly runtime: RuntimeRow
  readonly capacity: number
  /** The agent that would get the task; absent when none is connected. */
  readonly agent: AgentRow | undefined
}

/** What of a build the limits are about. */
export interface Claimant {
  readonly runtime: string | null
  readonly pipeline_id: string | null
  readonly branch: string | null
  readonly trigger_name: string | null
}

/** Reads the room and locks the rows that limit it until the transaction ends. */
export async function readRoom(app: App, tx: Tx): Promise<Room> {
  const now = app.clock.now()
  const runtimes = await lockRuntimes(tx, app.accountId)
  const pipelines = await lockLimitedPipelines(tx, app.accountId)
  const agents = (await listAgents(tx.query, app.accountId)).filter((agent) => isOnline(agent, now, app.timings.agentLeaseMs))
  const used = new Map<string, number>()
  for (const { count, ...claimant } of await countLiveAttempts(tx.query)) occupy(used, claimant, count)
  for (const { count, ...claimant } of await countWaitingForApproval(tx.query))
    occupy(used, { ...claimant, runtime: null }, count)
  return {
    runtimes: new Map(runtimes.map((runtime) => [runtime.name, toPlace(runtime, agents)])),
    pipelines: new Map(pipelines.map((pipeline) => [pipeline.id, pipeline])),
    defaultRuntime: runtimes.find(({ is_default: isDefault }) => isDefault === 1)?.name,
    account: await readAccountSettings(tx.query, app.accountId),
    used,
  }
}

function toPlace(runtime: RuntimeRow, online: readonly AgentRow[]): Place {
  const agent =
    runtime.agent === null
      ? online.find(({ runtimes }) => serves(runtimes, runtime.name))
      : online.find(({ name }) => name === runtime.agent)
  return { runtime, capacity: readSpec(runtime).capacity ?? Infinity, agent }
}

function serves(runtimes: string, name: string): boolean {
  const names: unknown = JSON.parse(runtimes)
  return Array.isArray(names) && names.includes(name)
}

/** Counts an attempt against everything that limits it. */
export function occupy(used: Map<string, number>, claimant: Claimant, count = 1): void {
  for (const key of keysOf(claimant)) used.set(key, (used.get(key) ?? 0) + count)
}

function keysOf({ runtime, pipeline_id: pipeline, branch, trigger_name: trigger }: Claimant): string[] {
  const all = ['account', `runtime/${runtime}`]
  if (pipeline === null) return all
  return [...all, `pipeline/${pipeline}`, `branch/${pipeline}/${branch}`, `trigger/${pipeline}/${trigger}`]
}

/** Why a build cannot run now; undefined when it can. */
export function obstacle(room: Room, build: Claimant): Cause | undefined {
  const runtime = build.runtime ?? room.defaultRuntime
  return (
    accountObstacle(room) ??
    runtimeObstacle(room, runtime) ??
    pipelineObstacle(room, build.pipeline_id) ??
    branchObstacle(room, build) ??
    triggerObstacle(room, build)
  )
}

/** Why no build of the account can start now. */
export function accountObstacle({ account, used }: Room): Cause | undefined {
  if (account.pauseBuilds) return { reason: 'account-paused', message: REASONS['account-paused'].text }
  const limit = account.concurrency ?? Infinity
  const running = used.get('account') ?? 0
  if (running < limit) return undefined
  return { reason: 'account-limit', message: `The account runs ${running} of at most ${limit} builds.` }
}

export function runtimeObstacle(room: Room, name: string | undefined): Cause | undefined {
  const place = name === undefined ? undefined : room.runtimes.get(name)
  if (place === undefined) {
    return {
      reason: 'runtime-missing',
      message: name === undefined ? 'There is no default runtime environment.' : `There is no runtime environment ${name}.`,
    }
  }
  if (place.agent === undefined) {
    const agent = place.runtime.agent === null ? 'No agent' : `The agent ${place.runtime.agent}`
    return {
      reason: 'agent-offline',
      message: `${agent} of the runtime environment ${name} is ${place.runtime.agent === null ? '' : 'not '}connected.`,
    }
  }
  const used = room.used.get(`runtime/${name}`) ?? 0
  if (used >= place.capacity)
    return {
      reason: 'runtime-capacity',
      message: `The runtime environment ${name} runs ${used} of at most ${place.capacity} builds.`,
    }
  return undefined
}

export function pipelineObstacle(room: Room, id: string | null): Cause | undefined {
  const pipeline = id === null ? undefined : room.pipelines.get(id)
  const limit = pipeline?.concurrency ?? Infinity
  const used = room.used.get(`pipeline/${id}`) ?? 0
  if (used < limit) return undefined
  if (limit === 0) return { reason: 'pipeline-frozen', message: 'The pipeline is frozen: its concurrency is 0.' }
  return { reason: 'pipeline-limit', message: `The pipeline runs ${used} of at most ${limit} builds.` }
}

/** Builds that no trigger of the pipeline started have no such limit. */
function triggerObstacle(room: Room, { pipeline_id: id, trigger_name: trigger }: Claimant): Cause | undefined {
  const pipeline = id === null ? undefined : room.pipelines.get(id)
  const limit = trigger === null ? Infinity : (pipeline?.trigger_concurrency ?? Infinity)
  const used = room.used.get(`trigger/${id}/${trigger}`) ?? 0
  if (used < limit) return undefined
  return { reason: 'trigger-limit', message: `The trigger ${trigger} runs ${used} of at most ${limit} builds.` }
}

function branchObstacle(room: Room, { pipeline_id: id, branch }: Claimant): Cause | undefined {
  const pipeline = id === null ? undefined : room.pipelines.get(id)
  const limit = pipeline?.branch_concurrency ?? Infinity
  const used = room.used.get(`branch/${id}/${branch}`) ?? 0
  if (used < limit) return undefined
  return {
    reason: 'branch-limit',
    message: `${branch === null ? 'Builds without a branch run' : `The branch ${branch} runs`} ${used} of at most ${limit} builds. ${REASONS['branch-limit'].text}`,
  }
}
