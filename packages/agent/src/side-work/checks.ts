/** The checks that an agent runs on request: its clock, the way to the server, and the environment of its runtimes. */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { hostOf, type Clock } from '@windlass/kit'
import { MAX_FINDINGS } from '@windlass/protocol'
import type { AgentCheckJob, FoundFindings, Executor } from '../executor.ts'
import { failureMessage } from '../failure-message.ts'

export interface CheckedAgent {
  readonly clock: Clock
  /** Base URL of the server as the agent calls it. */
  readonly serverUrl: string
  /** Calls a server. Throws if it does not answer. Absent: only the name is resolved. */
  readonly reach?: ((url: string, signal: AbortSignal) => Promise<void>) | undefined
  /** Returns what else belongs to the agent. */
  readonly findings?: (() => FoundFindings) | undefined
}

type Finding = FoundFindings[number]

/** Larger clock differences are a warning. Tokens and leases use the clock of the server. */
const SKEW_MS = 5_000
const REACH_MS = 10_000

/** Runs all checks. Never throws for a check that fails. */
export async function runChecks(
  executor: Executor,
  job: AgentCheckJob,
  agent: CheckedAgent,
  signal: AbortSignal,
): Promise<FoundFindings> {
  const skew = checkClock(job, agent.clock.now())
  const urls = [...new Set([agent.serverUrl, ...job.runtimes.map(({ engineUrl }) => engineUrl)])]
  const reached = await Promise.all(urls.map((url) => checkUrl(url, agent, signal)))
  const ofRuntimes = (await executor.check?.(job, signal)) ?? []
  return [skew, ...reached.flat(), ...(agent.findings?.() ?? []), ...ofRuntimes].slice(0, MAX_FINDINGS).map((finding) => ({
    ...finding,
    message: finding.message.slice(0, 2000),
  }))
}

function checkClock({ serverTime }: AgentCheckJob, now: number): Finding {
  const check = 'clock'
  const skewMs = Math.abs(now - serverTime)
  if (skewMs <= SKEW_MS) return { check, status: 'pass', message: 'agrees with the clock of the server' }
  return {
    check,
    status: 'warn',
    message: `differs from the clock of the server by ${Math.round(skewMs / 1000)} s`,
    hint: 'Synchronize the clocks of the nodes and of the server with NTP.',
  }
}

/** Resolves the name of a server and calls it, as engines do. */
async function checkUrl(url: string, { serverUrl, reach }: CheckedAgent, signal: AbortSignal): Promise<Finding[]> {
  const host = hostOf(new URL(url))
  const findings: Finding[] = []
  if (isIP(host) === 0) {
    try {
      const addresses = await lookup(host, { all: true })
      const text = addresses.map(({ address }) => address).join(', ')
      findings.push({ check: 'DNS', status: 'pass', message: `${host} resolves to ${text}` })
    } catch (error) {
      return [
        {
          check: 'DNS',
          // Behind a proxy, names need not resolve.
          status: url === serverUrl ? 'warn' : 'fail',
          message: `${host} cannot be resolved: ${failureMessage(error)}`,
          hint: 'Check the name and the DNS of the cluster. Behind a proxy set HTTPS_PROXY.',
        },
      ]
    }
  }
  try {
    await reach?.(url, AbortSignal.any([signal, AbortSignal.timeout(REACH_MS)]))
    if (reach !== undefined) findings.push({ check: 'egress', status: 'pass', message: `${url} answers` })
  } catch (error) {
    findings.push({
      check: 'egress',
      status: 'fail',
      message: `${url} does not answer: ${failureMessage(error)}`,
      hint: 'Engines call this address. Allow it in network policies and proxies, or set another one: `runtimeScheduler.serverUrl` of the runtime.',
    })
  }
  return findings
}
