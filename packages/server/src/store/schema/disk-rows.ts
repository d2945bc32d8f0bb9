/** The tables of disks, and of the jobs and checks of agents. `schema.ts` says what columns may contain. */
import type { AgentJob, DiskState } from '@windlass/protocol'

/** A disk as its agent reported it last. */
export interface DiskRow {
  id: string
  account_id: string
  agent_id: string
  /** Id of the volume. No other disk ever has it. */
  uid: string
  name: string
  /** Name of the runtime, or the value of its label. */
  runtime: string | null
  pipeline_id: string | null
  /** Id of a build, or of a warm pair. */
  build_id: string | null
  /** The reported state, or `removing` while a requested removal is not confirmed. */
  state: DiskState
  state_since: number
  /** JSON: DiskFacts. */
  facts: string
  removal_at: number | null
  removal_by: string | null
  /** What became of the requested removal. */
  removal_message: string | null
  /** The disk is gone. The row stays for a day, so that callers see what became of it and a late report does not bring it back. */
  removed_at: number | null
}

/** Work of an agent that belongs to no build. */
export interface AgentJobRow {
  id: string
  account_id: string
  agent_id: string
  kind: AgentJob['kind']
  /** Id of what it is about. At most one job of a kind and subject is open. */
  subject: string
  status: 'queued' | 'leased' | 'done' | 'failed'
  /** Number of the latest handover; 0 before the first. */
  revision: number
  failures: number
  available_at: number
  leased_until: number | null
  /** Not handed out after this time; null without a limit. */
  expires_at: number | null
  /** JSON, without secrets. */
  payload: string
  requested_by: string
  /** Why it failed. */
  message: string | null
  created_at: number
  done_at: number | null
}

/** The last report of checks of an agent: its own, or that of `windlass doctor`. */
export interface AgentCheckRow {
  agent_id: string
  source: 'agent' | 'doctor'
  account_id: string
  at: number
  requested_by: string
  /** JSON: CheckFinding[]. */
  findings: string
}

/** The last check of a context by the agent of a runtime, and its last result. */
export interface ContextCheckRow {
  context_id: string
  runtime_id: string
  account_id: string
  /** Job of the last request. Reports of other jobs do not count. */
  job_id: string
  /** Name of the agent. */
  agent: string
  requested_by: string
  requested_at: number
  /** Without a report at this time, the request has failed. */
  expires_at: number
  state: 'running' | 'done' | 'failed'
  /** Why it failed. */
  message: string | null
  /** JSON: ContextCheckResult with its times, of the last request that had one. */
  result: string | null
}
