/** The capacity that the limits leave for waiting builds, read from rows under lock, and the cause why a build cannot start. */
import { plural, REASONS } from '@windlass/plan'
import type { App } from '../../app.ts'
import { isOnline, listAgents } from '../../store/runtimes/agents.ts'
import type { AccountSettings } from '@windlass/protocol'
import { pauseMessage, readAccountSettings } from '../../account/settings.ts'
import { countLiveAttempts, countWaitingForApproval } from '../../store/builds/attempts.ts'
import { listPipelinesOfProjects, lockLimitedPipelines, type PipelineLimits } from '../../store/pipelines/pipelines.ts'
import { lockLimitedProjects, type LimitedProject } from '../../store/pipelines/projects.ts'
import { lockLimitedTriggers } from '../../store/triggers/triggers.ts'
import { lockRuntimes } from '../../store/runtimes/runtimes.ts'
import type { AgentRow, RuntimeRow } from '../../store/schema/schema.ts'
import type { LimitReader } from '../../store/store.ts'
import type { Cause } from '../lifecycle/edit.ts'
import { readSpec } from './limits.ts'

export interface Capacity {
  /** Runtimes by name. */
  readonly runtimes: ReadonlyMap<string, ServedRuntime>
  /** Projects with a limit, by the ids of their pipelines. */
  readonly projects: ReadonlyMap<string, LimitedProject>
  /** Pipelines of the waiting builds that have limits, by id. Others have no limits. */
  readonly pipelines: ReadonlyMap<string, PipelineLimits>
  /** Maximum number of concurrent builds of triggers that have one of their own, by the keys of `limitKeys`. */
  readonly triggers: ReadonlyMap<string, number>
  readonly defaultRuntime: string | undefined
  readonly account: AccountSettings
  /** Number of live attempts, and of builds that count while they wait for approval, by the keys of `limitKeys`. */
  readonly used: Map<string, number>
}

/** A runtime with its capacity and the agent that serves it. */
export interface ServedRuntime {
  readonly runtime: RuntimeRow
  readonly capacity: number
  /** The agent that would get the task. Undefined if none is connected. */
  readonly agent: AgentRow | undefined
}

/** The fields of a build that limits apply to. */
export interface LimitedBuild {
  readonly runtime: string | null
  readonly pipeline_id: string | null
  readonly branch: string | null
  readonly trigger_name: string | null
}

/**
 * Reads the capacity for waiting builds and, in a transaction, locks the rows that limit it until the end. The builds are read before the locks are taken.
 * A build of another pipeline that is queued in between has limits that are not locked, and is left to the next pass.
 */
export async function readCapacity(app: App, tx: LimitReader, waiting: readonly LimitedBuild[]): Promise<Capacity> {
  const now = app.clock.now()
  const runtimes = await lockRuntimes(tx, app.accountId)
  const ids = new Set(waiting.flatMap(({ pipeline_id: id }) => (id === null ? [] : [id])))
  const projects = await readProjects(app, tx)
  const pipelines = await lockLimitedPipelines(tx, [...ids])
  const triggers = await lockLimitedTriggers(tx, [...ids])
  const agents = (await listAgents(tx.query, app.accountId)).filter((agent) => isOnline(agent, now, app.timings.agentLeaseMs))
  const used = new Map<string, number>()
  for (const { count, ...build } of await countLiveAttempts(tx.query)) countUsage({ used, projects }, build, count)
  for (const { count, ...build } of await countWaitingForApproval(tx.query, app.accountId))
    countUsage({ used, projects }, { ...build, runtime: null }, count)
  return {
    runtimes: new Map(runtimes.map((runtime) => [runtime.name, toServedRuntime(runtime, agents)])),
    projects,
    pipelines: new Map(pipelines.map((pipeline) => [pipeline.id, pipeline])),
    triggers: new Map(triggers.map((one) => [`trigger/${one.pipeline_id}/${one.name}`, one.concurrency])),
    defaultRuntime: runtimes.find(({ is_default: isDefault }) => isDefault === 1)?.name,
    account: await readAccountSettings(tx.query, app.accountId),
    used,
  }
}

/** Locks the projects that have a limit and returns them by the ids of their pipelines. */
async function readProjects(app: App, tx: LimitReader): Promise<Map<string, LimitedProject>> {
  const limited = new Map((await lockLimitedProjects(tx, app.accountId)).map((project) => [project.id, project]))
  const pipelines = await listPipelinesOfProjects(tx.query, [...limited.keys()])
  return new Map(
    pipelines.flatMap(({ id, project_id: projectId }) => {
      const project = limited.get(projectId ?? '')
      return project === undefined ? [] : [[id, project]]
    }),
  )
}

function toServedRuntime(runtime: RuntimeRow, online: readonly AgentRow[]): ServedRuntime {
  const agent = online.find((one) => getsBuildsOf(one, runtime))
  return { runtime, capacity: readSpec(runtime).capacity ?? Infinity, agent }
}

/** Returns true for an agent that gets builds of a runtime: the one that the runtime names, otherwise each that lists it. */
export function getsBuildsOf(agent: Pick<AgentRow, 'name' | 'runtimes'>, runtime: RuntimeRow): boolean {
  if (runtime.agent !== null) return agent.name === runtime.agent
  const names: unknown = JSON.parse(agent.runtimes)
  return Array.isArray(names) && names.includes(runtime.name)
}

/** Counts an attempt against all limits that apply to it. */
export function countUsage({ used, projects }: Pick<Capacity, 'used' | 'projects'>, build: LimitedBuild, count = 1): void {
  for (const key of limitKeys(projects, build)) used.set(key, (used.get(key) ?? 0) + count)
}

/** Returns the keys in `Capacity.used` of all limits that apply to a build. */
export function limitKeys(
  projects: Capacity['projects'],
  { runtime, pipeline_id: pipeline, branch, trigger_name: trigger }: LimitedBuild,
): string[] {
  const all = ['account', `runtime/${runtime}`]
  if (pipeline === null) return all
  const project = projects.get(pipeline)
  if (project !== undefined) all.push(`project/${project.id}`)
  return [...all, `pipeline/${pipeline}`, `branch/${pipeline}/${branch}`, `trigger/${pipeline}/${trigger}`]
}

/** Returns why a build cannot start now, or undefined if it can. */
export function blockingCause(capacity: Capacity, build: LimitedBuild): Cause | undefined {
  const runtime = build.runtime ?? capacity.defaultRuntime
  return (
    accountCause(capacity) ??
    runtimeCause(capacity, runtime) ??
    projectCause(capacity, build.pipeline_id) ??
    pipelineCause(capacity, build.pipeline_id) ??
    branchCause(capacity, build) ??
    triggerCause(capacity, build)
  )
}

function ofLimit(used: number, limit: number): string {
  return `${used} of at most ${plural(limit, 'build')}`
}

/** Returns why no build of the account can start now. */
function accountCause({ account, used }: Capacity): Cause | undefined {
  if (account.pauseBuilds) return { reason: 'account-paused', message: pauseMessage(account) }
  const limit = account.concurrency ?? Infinity
  const running = used.get('account') ?? 0
  if (running < limit) return undefined
  return { reason: 'account-limit', message: `The account runs ${ofLimit(running, limit)}.` }
}

function runtimeCause(capacity: Capacity, name: string | undefined): Cause | undefined {
  const served = name === undefined ? undefined : capacity.runtimes.get(name)
  if (served === undefined) {
    return {
      reason: 'runtime-missing',
      message: name === undefined ? 'No default runtime environment is set.' : `Runtime environment "${name}" does not exist.`,
    }
  }
  if (served.agent === undefined) {
    const agent = served.runtime.agent === null ? 'No agent' : `The agent ${served.runtime.agent}`
    return {
      reason: 'agent-offline',
      message: `${agent} of the runtime environment ${name} is ${served.runtime.agent === null ? '' : 'not '}connected.`,
    }
  }
  const used = capacity.used.get(`runtime/${name}`) ?? 0
  if (used >= served.capacity)
    return {
      reason: 'runtime-capacity',
      message: `The runtime environment ${name} runs ${ofLimit(used, served.capacity)}.`,
    }
  return undefined
}

function projectCause({ projects, used }: Capacity, pipelineId: string | null): Cause | undefined {
  const project = pipelineId === null ? undefined : projects.get(pipelineId)
  if (project === undefined) return undefined
  const running = used.get(`project/${project.id}`) ?? 0
  if (running < project.concurrency) return undefined
  return {
    reason: 'project-limit',
    message: `The project ${project.name} runs ${ofLimit(running, project.concurrency)}.`,
  }
}

function pipelineCause(capacity: Capacity, id: string | null): Cause | undefined {
  const pipeline = id === null ? undefined : capacity.pipelines.get(id)
  const limit = pipeline?.concurrency ?? Infinity
  const used = capacity.used.get(`pipeline/${id}`) ?? 0
  if (used < limit) return undefined
  if (limit === 0) return { reason: 'pipeline-frozen', message: 'The pipeline is frozen: its concurrency is 0.' }
  return { reason: 'pipeline-limit', message: `The pipeline runs ${ofLimit(used, limit)}.` }
}

/** Returns why no build of the trigger can start now. Builds that were not started by a trigger of the pipeline have no such limit. */
function triggerCause(capacity: Capacity, { pipeline_id: id, trigger_name: trigger }: LimitedBuild): Cause | undefined {
  const pipeline = id === null ? undefined : capacity.pipelines.get(id)
  const key = `trigger/${id}/${trigger}`
  const limit = trigger === null ? Infinity : (capacity.triggers.get(key) ?? pipeline?.trigger_concurrency ?? Infinity)
  const used = capacity.used.get(key) ?? 0
  if (used < limit) return undefined
  return { reason: 'trigger-limit', message: `The trigger ${trigger} runs ${ofLimit(used, limit)}.` }
}

function branchCause(capacity: Capacity, { pipeline_id: id, branch }: LimitedBuild): Cause | undefined {
  const pipeline = id === null ? undefined : capacity.pipelines.get(id)
  const limit = pipeline?.branch_concurrency ?? Infinity
  const used = capacity.used.get(`branch/${id}/${branch}`) ?? 0
  if (used < limit) return undefined
  return {
    reason: 'branch-limit',
    message: `${branch === null ? 'Builds without a branch run' : `The branch ${branch} runs`} ${ofLimit(used, limit)}. ${REASONS['branch-limit'].text}`,
  }
}
