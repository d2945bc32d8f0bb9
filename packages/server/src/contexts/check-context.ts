/**
 * Checks of contexts by the agent of a runtime. A check is a job of that agent. The job has no credentials: they are opened when the agent takes it, and
 * only if the context and the runtime are then still what the request was for.
 */
import { defined, fault, isFault } from '@windlass/kit'
import { CONTEXT_CHECKS_FEATURE, ContextCheckResult, isIntegration, type AgentJob, type ContextCheck } from '@windlass/protocol'
import { z } from 'zod'
import { hasFeature } from '../agents/features.ts'
import { untilEnded } from '../agents/until-ended.ts'
import type { App } from '../app.ts'
import { noteDetail } from '../audit/call.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { chooseRuntime } from '../builds/create/prepare.ts'
import { getsBuildsOf } from '../builds/schedule/capacity.ts'
import { readSpec } from '../builds/schedule/limits.ts'
import { countOtherChecks, endContextCheck, listContextChecks, saveCheckRequest } from '../store/account/context-checks.ts'
import type { RuntimeAccess } from '../runtimes/access.ts'
import { findContext, lockContext } from '../store/account/contexts.ts'
import { ensureJob, jobTopic, updateJob } from '../store/runtimes/agent-jobs.ts'
import { isOnline, listAgents } from '../store/runtimes/agents.ts'
import { findRuntime, listRuntimes } from '../store/runtimes/runtimes.ts'
import type { AgentJobRow, AgentRow, ContextCheckRow, ContextRow, RuntimeRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'
import { toCheckedTarget } from './checked-target.ts'
import { openContextData } from './context-data.ts'
import { requireGitAccess } from './git-login.ts'

/** A request without a report within this time has failed. Longer than a check may take, with a handover to a restarted agent. Milliseconds. */
const EXPIRE_MS = 150_000
/** How long the request waits for the result. Milliseconds. */
const WAIT_MS = 15_000
/** Checks in progress, each of which takes memory and connections of an agent. */
const MAX_RUNNING = 20

const Payload = z.object({ contextId: z.string(), runtimeId: z.string() })
const Stored = ContextCheckResult.extend({ at: z.int(), requestedAt: z.int() })

/** Returns the last check of a context by the agent of each runtime that the caller may use, the latest first. Throws `not-found`. */
export async function showContextChecks(app: App, name: string, access?: RuntimeAccess): Promise<ContextCheck[]> {
  const { accountId, store, clock } = app
  const context = requireFound(await findContext(store.query, accountId, name), `context "${name}"`)
  const seen = (await listRuntimes(store.query, accountId)).filter((runtime) => access?.allows(runtime) ?? true)
  const runtimes = new Map(seen.map(({ id, name: runtime }) => [id, runtime]))
  const rows = await listContextChecks(store.query, context.id)
  return rows.flatMap((row) => {
    const runtime = runtimes.get(row.runtime_id)
    return runtime === undefined ? [] : [toCheck(row, { context, runtime, now: clock.now() })]
  })
}

interface Around {
  readonly context: ContextRow
  readonly runtime: string
  readonly now: number
}

function toCheck(row: ContextCheckRow, { context, runtime, now }: Around): ContextCheck {
  const isLate = row.state === 'running' && row.expires_at <= now
  const message = isLate
    ? `Agent "${row.agent}" did not report the check within ${EXPIRE_MS / 1000} s. It may have stopped: check its pod and its logs.`
    : (row.message ?? undefined)
  return {
    runtime,
    agent: row.agent,
    state: isLate ? 'failed' : row.state,
    requestedAt: row.requested_at,
    requestedBy: row.requested_by,
    ...defined({ message, result: row.result === null ? undefined : toResult(row.result, context) }),
  }
}

function toResult(text: string, { updated_at: changedAt }: ContextRow): ContextCheck['result'] {
  const { requestedAt, ...result } = Stored.parse(JSON.parse(text))
  return { ...result, isOutdated: changedAt > requestedAt }
}

export interface CheckRequest {
  /** Name of a runtime. Default: the runtime that the context is for, otherwise the default one. */
  readonly runtime: string | undefined
  /** Name of the caller. */
  readonly by: string
  /** Default: every runtime. */
  readonly access?: RuntimeAccess | undefined
  readonly signal: AbortSignal
}

/**
 * Lets the agent of a runtime check a context, and waits shortly for the result. A second call joins the check in progress. Throws `not-found`,
 * `runtime-unknown`, `runtime-denied`, `context-not-checkable`, `context-of-other-runtime`, `agent-not-connected`, `conflict` for an agent whose version has no checks, and
 * `forge-unreachable` or `forge-refused` for a token that has expired, and `rate-limited` if too many checks are in progress.
 */
export async function checkContext(app: App, name: string, request: CheckRequest): Promise<ContextCheck> {
  const { accountId, store, clock } = app
  const { by, signal } = request
  const context = requireFound(await findContext(store.query, accountId, name), `context "${name}"`)
  requireIntegration(context)
  const runtime = await requireRuntime(app, context, request)
  requireAllowed(app, context, runtime)
  const agent = await requireAgent(app, runtime)
  // Renews a token that is about to expire, which takes too long when a job is handed out.
  if (context.type === 'git') await requireGitAccess(app, context.id)
  const now = clock.now()
  const payload: z.output<typeof Payload> = { contextId: context.id, runtimeId: runtime.id }
  const job = await store.write(async (tx) => {
    // Two requests at the same time get one job.
    requireFound(await lockContext(tx, accountId, context.id), `context "${name}"`)
    const place = { context_id: context.id, runtime_id: runtime.id, account_id: accountId }
    if ((await countOtherChecks(tx.query, place, now)) >= MAX_RUNNING)
      throw fault('rate-limited', {
        message: `${MAX_RUNNING} checks of contexts are in progress.`,
        hint: 'Wait for one of them to end.',
      })
    const created = await ensureJob(tx, {
      account_id: accountId,
      agent_id: agent.id,
      kind: 'check-context',
      subject: `${context.id}/${runtime.id}`,
      payload,
      requested_by: by,
      now,
      expiresAt: now + EXPIRE_MS,
    })
    await saveCheckRequest(tx, {
      ...place,
      job_id: created.id,
      agent: agent.name,
      requested_by: by,
      requested_at: now,
      expires_at: created.expires_at ?? now + EXPIRE_MS,
    })
    noteDetail(`check of ${context.name} by the agent ${agent.name} of the runtime ${runtime.name}`)
    return created
  })
  await untilEnded(app, job.id, { waitMs: WAIT_MS, signal })
  const checks = await showContextChecks(app, context.id)
  return requireFound(
    checks.find((check) => check.runtime === runtime.name),
    `check of the context "${name}"`,
  )
}

/** Returns the named runtime, that of the context, or the default one. Throws `runtime-unknown` and `runtime-denied`. */
async function requireRuntime(app: App, context: ContextRow, { runtime, access }: CheckRequest): Promise<RuntimeRow> {
  const found = await chooseRuntime(app, runtime ?? runtimeOf(app, context), access)
  if (found !== undefined) return found
  throw fault('runtime-unknown', {
    message: 'There is no default runtime environment.',
    hint: 'Name the runtime environment whose agent checks the context: `--runtime`.',
  })
}

/** Returns the runtime that a context is limited to; undefined if any may use it. */
function runtimeOf({ vault }: App, context: ContextRow): string | undefined {
  const { runtime, resourceName } = context.type === 'secret-store' ? openContextData(vault, context) : {}
  return resourceName === undefined || runtime === '*' ? undefined : runtime
}

/** Throws `context-not-checkable`. */
function requireIntegration({ name, type }: ContextRow): void {
  if (isIntegration(type)) return
  throw fault('context-not-checkable', {
    message: `The context "${name}" holds variables (${type}). It leads to nothing outside that could be checked.`,
  })
}

/** Throws `context-of-other-runtime` if builds of the runtime do not get the context. */
function requireAllowed(app: App, context: ContextRow, runtime: RuntimeRow): void {
  const only = runtimeOf(app, context)
  if (only === undefined || only === runtime.name) return
  throw fault('context-of-other-runtime', {
    message: `The context "${context.name}" is only for the runtime "${only}", so the agent of "${runtime.name}" does not get it.`,
    hint: `Check it with \`--runtime ${only}\`.`,
  })
}

/** Returns the connected agent that serves the runtime. Throws `agent-not-connected`, `conflict`. */
async function requireAgent(app: App, runtime: RuntimeRow): Promise<AgentRow> {
  const now = app.clock.now()
  const agents = (await listAgents(app.store.query, app.accountId)).filter((agent) => getsBuildsOf(agent, runtime))
  const agent = agents.find((one) => isOnline(one, now, app.timings.agentLeaseMs))
  if (agent === undefined)
    throw fault('agent-not-connected', {
      message: `No connected agent serves the runtime "${runtime.name}".`,
      ...(agents.length === 0 && { hint: 'Assign the runtime to an agent, or check with another runtime.' }),
    })
  if (agent.protocol !== 2 || !hasFeature(agent, CONTEXT_CHECKS_FEATURE))
    throw fault('conflict', {
      message: `Agent "${agent.name}" cannot check contexts: its version or its protocol does not have it.`,
      hint: 'Upgrade the agent with its chart: `windlass runner upgrade`.',
    })
  return agent
}

type ContextJob = Pick<Extract<AgentJob, { kind: 'check-context' }>, 'context' | 'runtime' | 'namespace' | 'target'>

/** Returns what the agent gets for a job, with the credentials. Ends the job and returns undefined if the agent may not have them any more. */
export async function describeContextCheck(app: App, agent: AgentRow, job: AgentJobRow): Promise<ContextJob | undefined> {
  try {
    return await toContextJob(app, agent, job)
  } catch (error) {
    if (!isFault(error)) throw error
    await giveUp(app, job, error.message)
    return undefined
  }
}

async function toContextJob(app: App, agent: AgentRow, job: AgentJobRow): Promise<ContextJob> {
  const { accountId, store } = app
  const { contextId, runtimeId } = Payload.parse(JSON.parse(job.payload))
  const context = requireFound(await findContext(store.query, accountId, contextId), 'the context')
  const runtime = requireFound(await findRuntime(store.query, accountId, runtimeId), 'the runtime')
  requireIntegration(context)
  requireAllowed(app, context, runtime)
  if (!getsBuildsOf(agent, runtime))
    throw fault('conflict', { message: `Agent "${agent.name}" no longer serves the runtime "${runtime.name}".` })
  if (!hasFeature(agent, CONTEXT_CHECKS_FEATURE))
    throw fault('conflict', { message: `The version of agent "${agent.name}" does not have checks of contexts any more.` })
  const namespace = runtime.type === 'kubernetes' ? readSpec(runtime).runtimeScheduler.cluster.namespace : undefined
  return { context: context.name, runtime: runtime.name, target: await toCheckedTarget(app, context), ...defined({ namespace }) }
}

async function giveUp(app: App, { id }: AgentJobRow, message: string): Promise<void> {
  await app.store.write(async (tx) => {
    await updateJob(tx, id, { status: 'failed', done_at: app.clock.now(), leased_until: null, message })
    await failContextCheck(tx, id, message)
    tx.wake(jobTopic(id))
  })
}

/** Stores why a check has no result. */
export async function failContextCheck(tx: Tx, jobId: string, message: string): Promise<void> {
  await endContextCheck(tx, jobId, { state: 'failed', message })
}

/** Stores the result of a check. */
export async function takeContextCheck(
  tx: Tx,
  { id, created_at: requestedAt }: AgentJobRow,
  { result, now }: { readonly result: ContextCheckResult; readonly now: number },
): Promise<void> {
  const stored: z.input<typeof Stored> = { ...result, at: now, requestedAt }
  await endContextCheck(tx, id, { state: 'done', message: null, result: JSON.stringify(stored) })
}
