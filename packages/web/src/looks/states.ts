/** The word, shape and color of each state. Shape and word always accompany the color. */
import type { GitlabJobState } from '@windlass/protocol'

export type Tone = 'ok' | 'bad' | 'run' | 'wait' | 'stop' | 'idle'

export type Shape =
  | 'triangle'
  | 'hourglass'
  | 'dot'
  | 'arc'
  | 'bars'
  | 'caret'
  | 'outline'
  | 'check'
  | 'cross'
  | 'hand'
  | 'square'
  | 'dash'

export interface Look {
  readonly word: string
  readonly shape: Shape
  readonly tone: Tone
}

const LOOKS = {
  waiting: { word: 'Waiting', shape: 'hourglass', tone: 'wait' },
  starting: { word: 'Starting', shape: 'dot', tone: 'run' },
  running: { word: 'Running', shape: 'arc', tone: 'run' },
  approval: { word: 'Needs approval', shape: 'bars', tone: 'wait' },
  held: { word: 'Held', shape: 'caret', tone: 'stop' },
  stopping: { word: 'Stopping', shape: 'outline', tone: 'stop' },
  succeeded: { word: 'Succeeded', shape: 'check', tone: 'ok' },
  failed: { word: 'Failed', shape: 'cross', tone: 'bad' },
  denied: { word: 'Denied', shape: 'hand', tone: 'bad' },
  terminated: { word: 'Terminated', shape: 'square', tone: 'stop' },
  superseded: { word: 'Superseded', shape: 'square', tone: 'stop' },
  timedOut: { word: 'Timed out', shape: 'square', tone: 'stop' },
  skipped: { word: 'Skipped', shape: 'dash', tone: 'idle' },
  notReached: { word: 'Not reached', shape: 'dash', tone: 'idle' },
} as const satisfies Readonly<Record<string, Look>>

interface State {
  readonly status: string
  readonly reason?: string | undefined
  readonly waiting?: { readonly reason: string } | undefined
}

const TIMED_OUT: ReadonlySet<string> = new Set(['too-long', 'inactive', 'queue-expired', 'approval-timeout'])

const HEALTH = {
  ok: { word: 'Healthy', shape: 'check', tone: 'ok' },
  warning: { word: 'Warning', shape: 'triangle', tone: 'wait' },
  error: { word: 'Error', shape: 'cross', tone: 'bad' },
} as const satisfies Readonly<Record<string, Look>>

/** Returns the look of a level of health; undefined for servers that do not send it. */
export function lookOfHealth(level: keyof typeof HEALTH | undefined): Look {
  return level === undefined ? { ...LOOKS.skipped, word: 'Unknown' } : HEALTH[level]
}

const AGENTS = {
  online: { ...HEALTH.ok, word: 'Online' },
  offline: { ...HEALTH.error, word: 'Silent' },
  'never-seen': { ...LOOKS.skipped, word: 'Never seen' },
} as const satisfies Readonly<Record<string, Look>>

/** Returns the look of an agent or a monitor by its status. */
export function lookOfAgent(status: keyof typeof AGENTS): Look {
  return AGENTS[status]
}

const GITLAB_JOBS = {
  waiting: LOOKS.waiting,
  preparing: { ...LOOKS.starting, word: 'Preparing' },
  running: LOOKS.running,
  ending: { ...LOOKS.stopping, word: 'Ending' },
  success: LOOKS.succeeded,
  failed: LOOKS.failed,
  canceled: { ...LOOKS.terminated, word: 'Canceled' },
  unknown: { ...LOOKS.skipped, word: 'Unknown', shape: 'triangle', tone: 'wait' },
} as const satisfies Readonly<Record<GitlabJobState, Look>>

/** Returns the look of a job of GitLab. A newer server may have other states. */
export function lookOfGitlabJob(state: GitlabJobState): Look {
  return Object.hasOwn(GITLAB_JOBS, state) ? GITLAB_JOBS[state] : { ...LOOKS.skipped, word: state }
}

/** Returns the look of an installation. */
export function lookOfInstallation(status: 'running' | 'success' | 'failure'): Look {
  return status === 'running' ? LOOKS.running : status === 'success' ? LOOKS.succeeded : LOOKS.failed
}

/** Returns the look of a build. */
export function lookOfBuild({ status, reason, waiting }: State): Look {
  switch (status) {
    case 'elected':
      return LOOKS.starting
    case 'running':
      return waiting?.reason === 'debugger' ? LOOKS.held : LOOKS.running
    case 'pending-approval':
      return LOOKS.approval
    case 'terminating':
      return LOOKS.stopping
    case 'success':
      return LOOKS.succeeded
    default:
      return lookOfEnd({ status, reason })
  }
}

/** Returns the look of a step. */
export function lookOfStep({ status, reason }: State): Look {
  switch (status) {
    case 'running':
      return LOOKS.running
    case 'waiting':
      return reason === 'debugger' ? LOOKS.held : LOOKS.approval
    case 'success':
      return LOOKS.succeeded
    case 'skipped':
      return reason === 'not-reached' ? LOOKS.notReached : LOOKS.skipped
    case 'pending':
      return { ...LOOKS.skipped, word: 'Not started' }
    default:
      return lookOfEnd({ status, reason })
  }
}

function lookOfEnd({ status, reason }: State): Look {
  if (status === 'success') return LOOKS.succeeded
  if (status === 'error') return reason === 'denied' ? LOOKS.denied : LOOKS.failed
  if (status !== 'terminated') return LOOKS.waiting
  if (reason === 'superseded') return LOOKS.superseded
  return reason !== undefined && TIMED_OUT.has(reason) ? LOOKS.timedOut : LOOKS.terminated
}
