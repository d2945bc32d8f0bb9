/** Checks of the environment of an agent, carried out by the agent itself or by `windlass doctor`. */
import { defined, fault } from '@windlass/kit'
import { CheckFinding, JOBS_FEATURE, type AgentChecks, type AgentJob } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { readSpec } from '../builds/schedule/limits.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { listChecksOf, saveChecks } from '../store/runtimes/agent-checks.ts'
import { ensureJob, findLatestJob } from '../store/runtimes/agent-jobs.ts'
import { findAgent, isOnline } from '../store/runtimes/agents.ts'
import { listRuntimes } from '../store/runtimes/runtimes.ts'
import type { AgentCheckRow, AgentJobRow, AgentRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'
import { hasFeature } from './features.ts'
import { engineUrlFor } from '../tasks/engine-url.ts'
import { servedBy } from '../tasks/hello.ts'
import { untilEnded } from './until-ended.ts'

/** A request that the agent does not take within this time is given up. Milliseconds. */
const EXPIRE_MS = 5 * 60_000
/** How long the request waits for the findings. Milliseconds. */
const WAIT_MS = 15_000
const MAX_RUNTIMES = 50

const Findings = z.array(CheckFinding.extend({ runtime: z.string().optional() }))
type Finding = z.output<typeof Findings>[number]

/** Returns the last reports of an agent, and what became of the last request. Throws `not-found`. */
export async function showChecks(app: App, name: string): Promise<AgentChecks> {
  const { accountId, clock, store } = app
  const agent = requireFound(await findAgent(store.query, accountId, name), `agent "${name}"`)
  const rows = await listChecksOf(store.query, agent.id)
  const job = await findLatestJob(store.query, { agentId: agent.id, kind: 'check-agent', subject: agent.id })
  return {
    agent: agent.name,
    reports: rows.map(({ source, at, requested_by: by, findings }) => ({ source, at, by, findings: readFindings(findings) })),
    ...defined({ request: job && requestOf(job, clock.now()) }),
  }
}

/** Reads stored findings. */
export function readFindings(findings: string): Finding[] {
  return Findings.parse(JSON.parse(findings))
}

function requestOf(job: AgentJobRow, now: number): NonNullable<AgentChecks['request']> {
  const { status } = job
  const isOver = status === 'done' || status === 'failed'
  const isLate = !isOver && job.expires_at !== null && job.expires_at <= now
  return {
    state: isOver ? status : isLate ? 'failed' : 'running',
    at: job.created_at,
    by: job.requested_by,
    ...defined({ message: isLate ? 'The agent did not take the request. Check its logs.' : (job.message ?? undefined) }),
  }
}

/**
 * Lets an agent check its environment, and waits shortly for the findings. A second call joins the checks in progress. Throws `not-found`,
 * `agent-not-connected`, and `conflict` for one whose version has no checks.
 */
export async function requestChecks(
  app: App,
  name: string,
  { by, signal }: { readonly by: string; readonly signal: AbortSignal },
): Promise<AgentChecks> {
  const agent = requireFound(await findAgent(app.store.query, app.accountId, name), `agent "${name}"`)
  const now = app.clock.now()
  if (!isOnline(agent, now, app.timings.agentLeaseMs))
    throw fault('agent-not-connected', { message: `Agent "${agent.name}" is not connected.` })
  if (agent.protocol !== 2 || !hasFeature(agent, JOBS_FEATURE))
    throw fault('conflict', {
      message: `Agent "${agent.name}" cannot run checks: its version or its protocol does not have them.`,
      hint: 'Upgrade the agent with its chart, or run `windlass doctor --report` with access to the cluster.',
    })
  const of = { account_id: app.accountId, agent_id: agent.id, kind: 'check-agent', subject: agent.id } as const
  const job = await app.store.write((tx) =>
    ensureJob(tx, { ...of, payload: {}, requested_by: by, now, expiresAt: now + EXPIRE_MS }),
  )
  await untilEnded(app, job.id, { waitMs: WAIT_MS, signal })
  return showChecks(app, agent.id)
}

/** Returns what the runtimes of an agent need, for the job of the agent. */
export async function describeCheck(
  app: App,
  agent: AgentRow,
): Promise<Pick<Extract<AgentJob, { kind: 'check-agent' }>, 'serverTime' | 'runtimes'>> {
  const rows = await listRuntimes(app.store.query, app.accountId)
  const served = servedBy(agent, rows)
  return {
    serverTime: app.clock.now(),
    runtimes: rows
      .filter(({ name }) => served.includes(name))
      .slice(0, MAX_RUNTIMES)
      .map((row) => {
        const spec = readSpec(row)
        const isCluster = row.type === 'kubernetes'
        return {
          name: row.name,
          engineUrl: engineUrlFor(app, agent, spec),
          ...(isCluster && {
            namespace: spec.runtimeScheduler.cluster.namespace,
            storageClass: spec.dockerDaemonScheduler.pvcs.dind.storageClassName,
          }),
        }
      }),
  }
}

interface NewReport {
  readonly accountId: string
  readonly agentId: string
  readonly source: AgentCheckRow['source']
  readonly by: string
  readonly findings: readonly Finding[]
  readonly now: number
}

/** Replaces the last report of an agent. */
export async function storeChecks(tx: Tx, { accountId, agentId, source, by, findings, now }: NewReport): Promise<void> {
  const row = { agent_id: agentId, source, account_id: accountId, at: now, requested_by: by, findings: JSON.stringify(findings) }
  await saveChecks(tx, row)
}

/** Stores the findings of `windlass doctor` about the cluster of an agent. Throws `not-found`. */
export async function putDoctorReport(
  app: App,
  name: string,
  { findings, by }: { readonly findings: readonly Finding[]; readonly by: string },
): Promise<AgentChecks> {
  const agent = requireFound(await findAgent(app.store.query, app.accountId, name), `agent "${name}"`)
  const of = { accountId: app.accountId, agentId: agent.id, source: 'doctor', by, findings } as const
  await app.store.write((tx) => storeChecks(tx, { ...of, now: app.clock.now() }))
  return showChecks(app, agent.id)
}
