/** The checks that failed, for the health of runtimes. */
import type { CheckFacts } from '@windlass/protocol'
import { listChecks } from '../store/runtimes/agent-checks.ts'
import { listAgents } from '../store/runtimes/agents.ts'
import type { Query } from '../store/store.ts'
import { readFindings } from './checks.ts'

/** Older reports say nothing about the present. Milliseconds. */
const FRESH_MS = 24 * 3_600_000

export interface FailedCheck extends CheckFacts {
  /** Name of the agent. */
  readonly agent: string
  readonly runtime?: string | undefined
}

/** Returns the failed checks of the newest report of each agent. */
export async function readFailedChecks(query: Query, accountId: string, now: number): Promise<FailedCheck[]> {
  const reports = await listChecks(query, accountId, now - FRESH_MS)
  if (reports.length === 0) return []
  const names = new Map((await listAgents(query, accountId)).map(({ id, name }) => [id, name]))
  const newest = reports.filter((report) => !reports.some((other) => other.agent_id === report.agent_id && other.at > report.at))
  return newest.flatMap(({ agent_id: id, at, findings }) =>
    readFindings(findings)
      .filter(({ status }) => status === 'fail')
      .map(({ check, message, hint, runtime }) => ({ agent: names.get(id) ?? '', check, message, hint, runtime, at })),
  )
}
