/** Checks that an agent runs inside its clusters. */
import type { ApiClient } from '@windlass/client'
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import type { AgentChecks } from '@windlass/protocol'
import type { Finding } from '../runner/acceptance/finding.ts'

/** Longer than an agent may take for its checks. Milliseconds. */
const TIMEOUT_MS = 150_000
const POLL_MS = 2_000

/** Lets an agent check and returns its findings. Throws `agent-not-connected`, `agent-checks-failed`. */
export async function checkByAgent({ agents }: ApiClient, name: string): Promise<Finding[]> {
  const until = systemClock.monotonic() + TIMEOUT_MS
  let checks = await agents.check(name, { timeoutMs: 30_000 })
  while (checks.request?.state === 'running' && systemClock.monotonic() < until) {
    await systemClock.sleep(POLL_MS)
    checks = await agents.checks(name)
  }
  if (checks.request?.state !== 'done')
    throw fault('agent-checks-failed', {
      message: `Agent "${name}" did not report its checks: ${checks.request?.message ?? 'it has not answered yet.'}`,
    })
  return findingsOf(checks)
}

/** Returns the own findings of the agent. Those of one runtime name it. */
function findingsOf({ reports }: AgentChecks): Finding[] {
  const own = reports.find(({ source }) => source === 'agent')
  return (own?.findings ?? []).map(({ runtime, check, ...rest }) => ({
    ...rest,
    check: runtime === undefined ? check : `${runtime}: ${check}`,
  }))
}
