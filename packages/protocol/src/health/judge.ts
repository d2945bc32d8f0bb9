/** Judges the health. Pure, so that the server, the command line and a page agree. */
import { formatDuration } from '@windlass/plan'
import type { PodFacts, RuntimeFacts, ServerFacts } from './facts.ts'
import {
  HEALTH_LEVELS,
  type Health,
  type HealthFinding,
  type HealthLevel,
  type HealthSummary,
  type ServerHealth,
} from './health.ts'

type Rule<F> = (facts: F) => HealthFinding | undefined

/** Below this multiple of the minimum, the free space is a warning. */
const LOW_SPACE = 2

/** What to do about pods that do not start, by reason. */
const POD_HINTS: Readonly<Record<string, string>> = {
  'policy-refused': 'Allow the objects in the policy of the agent, or change the specification of the runtime.',
  'pod-rejected': 'Check quotas, admission policies and the rights of the agent in the cluster.',
  'pod-image-error': 'Check the image of the runtime, and the credentials with which the cluster pulls it.',
  unschedulable: 'Add nodes, or lower the requests and node selectors of the runtime.',
  'disk-unavailable': 'Check the storage class of the runtime and its provisioner.',
  'node-disk-full': 'Free space on the nodes, or run the cleaners.',
  'engine-silent': 'Check that pods of the runtime can reach the address of the server.',
}
const OTHER_POD_HINT = 'Check the events of the pods in the cluster.'

/** The order of the causes is their rank. */
const RUNTIME_RULES: readonly Rule<RuntimeFacts>[] = [
  agentDeleted,
  agentMissing,
  agentNeverSeen,
  agentSilent,
  paused,
  (facts) => podFinding(facts.rejections, 'policy-refused', 'The agent refuses objects of builds'),
  (facts) => podFinding(facts.rejections, 'pod-rejected', 'The cluster rejects objects of builds'),
  (facts) => podFinding(facts.pods, 'pod-image-error', 'Pods cannot pull an image'),
  (facts) => podFinding(facts.pods, 'disk-unavailable', 'Pods wait for a disk'),
  (facts) => podFinding(facts.pods, 'node-disk-full', 'Pods wait because the disk of a node is full'),
  silentEngines,
  (facts) => podFinding(facts.pods, 'unschedulable', 'Pods find no node'),
  otherPods,
  runtimeFull,
  pairsFail,
  checkFailed,
  versionsDiffer,
]

const SERVER_RULES: readonly Rule<ServerFacts>[] = [diskFull, logsFail, paused, diskLow]

/** Returns the health of a runtime, worst finding first. */
export function judgeRuntime(facts: RuntimeFacts): Health {
  return summarize(findingsOf(RUNTIME_RULES, facts), loadOf(facts))
}

/** Returns the health of the server. The sentence names the worst runtime if that is worse than the findings of the server itself. */
export function judgeServer(
  facts: ServerFacts,
  runtimes: readonly { readonly name: string; readonly health: HealthSummary }[],
): ServerHealth {
  const own = summarize(findingsOf(SERVER_RULES, facts), `${count(runtimes.length, 'runtime')}. ${loadOf(facts)}`)
  const shown = runtimes.map(({ name, health: { level, sentence } }) => ({ name, level, sentence }))
  const worst = shown.toSorted((one, other) => rank(other.level) - rank(one.level))[0]
  const summary =
    worst !== undefined && rank(worst.level) > rank(own.level)
      ? { level: worst.level, sentence: `Runtime "${worst.name}": ${worst.sentence}` }
      : {}
  return { ...own, ...summary, runtimes: shown }
}

function findingsOf<F>(rules: readonly Rule<F>[], facts: F): HealthFinding[] {
  const found = rules.flatMap((rule) => rule(facts) ?? [])
  return found.toSorted((one, other) => rank(other.level) - rank(one.level))
}

function summarize(findings: HealthFinding[], healthy: string): Health {
  const [worst] = findings
  return worst === undefined
    ? { level: 'ok', sentence: healthy, findings }
    : { level: worst.level, sentence: worst.message, findings }
}

function rank(level: HealthLevel): number {
  return HEALTH_LEVELS.indexOf(level)
}

function agentDeleted({ agent, waiting }: RuntimeFacts): HealthFinding | undefined {
  if (agent === undefined || agent.exists) return undefined
  return {
    code: 'agent-deleted',
    level: 'error',
    message: `Agent "${agent.name}" does not exist.${waits(waiting)}`,
    hint: 'Attach the runtime to an agent that exists: `windlass attach runtime`.',
  }
}

function agentMissing({ agent, waiting }: RuntimeFacts): HealthFinding | undefined {
  if (agent !== undefined) return undefined
  return {
    code: 'agent-missing',
    level: 'error',
    message: `No agent serves the runtime.${waits(waiting)}`,
    hint: 'Attach the runtime to an agent: `windlass attach runtime`.',
  }
}

function agentNeverSeen({ agent, waiting }: RuntimeFacts): HealthFinding | undefined {
  if (agent?.exists !== true || agent.isOnline || agent.lastSeenAt !== undefined) return undefined
  return {
    code: 'agent-never-connected',
    level: 'error',
    message: `Agent "${agent.name}" has never connected.${waits(waiting)}`,
    hint: 'Check that the agent is installed and can reach the server: `windlass doctor`.',
  }
}

function agentSilent({ agent, now, waiting }: RuntimeFacts): HealthFinding | undefined {
  if (agent?.exists !== true || agent.isOnline || agent.lastSeenAt === undefined) return undefined
  return {
    code: 'agent-offline',
    level: 'error',
    message: `Agent "${agent.name}" has been silent for ${roughly(now - agent.lastSeenAt)}.${waits(waiting)}`,
    hint: 'Check the pod of the agent, its logs, and the network between the cluster and the server.',
    since: agent.lastSeenAt,
  }
}

function paused({
  isPaused,
  pauseReason,
  waiting,
}: Pick<RuntimeFacts, 'isPaused' | 'pauseReason' | 'waiting'>): HealthFinding | undefined {
  if (!isPaused) return undefined
  const why = pauseReason === undefined ? '.' : `: ${pauseReason}${/[.!?]$/.test(pauseReason) ? '' : '.'}`
  return {
    code: 'account-paused',
    level: 'warning',
    message: `New builds are paused${why}${waits(waiting)}`,
    hint: 'Let builds start again: `windlass set settings pauseBuilds=false`.',
  }
}

function podFinding(pods: readonly PodFacts[], reason: string, text: string): HealthFinding | undefined {
  const found = pods.find((pod) => pod.reason === reason)
  if (found === undefined) return undefined
  const { message = '', since, count: attempts } = found
  return {
    code: reason,
    level: 'error',
    message: `${text} (${count(attempts, 'build')})${message === '' ? '.' : `: ${message.trim().replaceAll(/\s+/g, ' ')}`}`,
    hint: POD_HINTS[reason] ?? OTHER_POD_HINT,
    since,
  }
}

/** The message ends with the log of the engine. Its last line says what failed; the build shows the others. */
function silentEngines({ pods }: RuntimeFacts): HealthFinding | undefined {
  const short = pods.map((pod) => ({ ...pod, message: pod.message?.trim().split('\n').at(-1) }))
  return podFinding(short, 'engine-silent', 'Engines run but do not reach the server')
}

/** Pods that wait for another reason. Waiting for a turn on the nodes is normal. */
function otherPods({ pods }: RuntimeFacts): HealthFinding | undefined {
  const other = pods.find(({ reason }) => POD_HINTS[reason] === undefined && reason !== 'start-limit')
  if (other === undefined) return undefined
  const finding = podFinding([other], other.reason, 'Pods do not start')
  return finding && { ...finding, level: 'warning' }
}

function runtimeFull({ now, running, waiting, capacity, fullSince, nextMs }: RuntimeFacts): HealthFinding | undefined {
  if (capacity === undefined || running < capacity || waiting === 0) return undefined
  const time = fullSince === undefined ? '' : ` for ${roughly(now - fullSince)}`
  const next = nextMs === undefined ? '' : ` The next place is free in about ${roughly(nextMs)}.`
  return {
    code: 'runtime-full',
    level: 'warning',
    message: `Full${time}: ${running} of ${capacity} builds run, ${waiting} wait.${next}`,
    hint: 'Raise the capacity of the runtime, or terminate builds that are not needed.',
    ...(fullSince !== undefined && { since: fullSince }),
  }
}

function pairsFail({ pairProblem }: RuntimeFacts): HealthFinding | undefined {
  if (pairProblem === undefined) return undefined
  return {
    code: 'warm-pairs-fail',
    level: 'warning',
    message: `Warm pairs fail: ${pairProblem.trim()}`,
    hint: 'Builds start without warm pairs. Check the events of the pods in the cluster.',
  }
}

/** A warning, because what a failed check prevents is a finding of its own: pods that do not start, a silent agent. */
function checkFailed({ failedChecks = [], agent, now }: RuntimeFacts): HealthFinding | undefined {
  const [first, ...others] = failedChecks
  if (first === undefined) return undefined
  const { check, message, hint, at } = first
  const more = others.length === 0 ? '' : ` ${count(others.length, 'other check')} failed too.`
  return {
    code: 'check-failed',
    level: 'warning',
    message: `A check failed ${roughly(now - at)} ago: ${check}: ${message.trim().replace(/\.?$/, '.')}${more}`,
    hint: hint ?? `See all findings: \`windlass doctor --agent ${agent?.name ?? 'NAME'}\`.`,
    since: at,
  }
}

function versionsDiffer({ agent, serverVersion }: RuntimeFacts): HealthFinding | undefined {
  if (agent?.version === undefined || releaseOf(agent.version) === releaseOf(serverVersion)) return undefined
  return {
    code: 'versions-differ',
    level: 'warning',
    message: `Agent "${agent.name}" has version ${agent.version}, the server ${serverVersion}.`,
    hint: 'Upgrade the server first, then the agent with its chart.',
  }
}

/** Returns the part of a version that server and agents should share: `1.4` of `1.4.2`. */
export function releaseOf(version: string): string {
  return version.split('.').slice(0, 2).join('.')
}

function diskFull({ freeShare, minFreeShare }: ServerFacts): HealthFinding | undefined {
  if (freeShare >= minFreeShare) return undefined
  return {
    code: 'storage-full',
    level: 'error',
    message: `Only ${percent(freeShare)} of the disk of the server is free; new builds need ${percent(minFreeShare)}.`,
    hint: 'Free space, enlarge the disk, or keep logs for a shorter time.',
  }
}

function diskLow({ freeShare, minFreeShare }: ServerFacts): HealthFinding | undefined {
  if (freeShare < minFreeShare || freeShare >= minFreeShare * LOW_SPACE) return undefined
  return {
    code: 'storage-low',
    level: 'warning',
    message: `Only ${percent(freeShare)} of the disk of the server is free. Below ${percent(minFreeShare)} no builds are accepted.`,
    hint: 'Free space, enlarge the disk, or keep logs for a shorter time.',
  }
}

function logsFail({ logsFailSince }: ServerFacts): HealthFinding | undefined {
  if (logsFailSince === undefined) return undefined
  return {
    code: 'logs-not-writable',
    level: 'error',
    message: 'The log storage accepts no writes. Engines keep their output until it does.',
    hint: 'Check the log folder or the bucket, and its credentials.',
    since: logsFailSince,
  }
}

function loadOf({ running, waiting, capacity }: { running: number; waiting: number; capacity?: number | undefined }): string {
  const ran =
    capacity === undefined
      ? `${count(running, 'build')} ${running === 1 ? 'runs' : 'run'}`
      : `${running} of ${capacity} builds run`
  return `${ran}, ${waiting === 0 ? 'none wait' : `${waiting} ${waiting === 1 ? 'waits' : 'wait'}`}.`
}

function waits(waiting: number): string {
  if (waiting === 0) return ''
  return ` ${count(waiting, 'build')} ${waiting === 1 ? 'waits' : 'wait'}.`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

/** Formats a duration in whole seconds, minutes or hours, so that the sentence does not change with each call. */
function roughly(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  return formatDuration(seconds * 1000)
}
