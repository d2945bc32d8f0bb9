/** The word, shape and color of the states of applications. */
import type {
  ApplicationHealth,
  ApplicationSync,
  PromotionState,
  ReleaseStatus,
  ReleaseStepState,
  SyncPhase,
  Tunnel,
  TunnelStatus,
} from '@windlass/protocol'
import type { Look } from '../looks/states.ts'

const HEALTHS = {
  degraded: { word: 'Degraded', shape: 'cross', tone: 'bad' },
  missing: { word: 'Missing', shape: 'triangle', tone: 'bad' },
  unknown: { word: 'Unknown', shape: 'triangle', tone: 'wait' },
  progressing: { word: 'Progressing', shape: 'arc', tone: 'run' },
  suspended: { word: 'Suspended', shape: 'bars', tone: 'stop' },
  healthy: { word: 'Healthy', shape: 'check', tone: 'ok' },
} as const satisfies Readonly<Record<ApplicationHealth, Look>>

const SYNCS = {
  synced: { word: 'Synced', shape: 'check', tone: 'ok' },
  'out-of-sync': { word: 'Out of sync', shape: 'triangle', tone: 'wait' },
  unknown: { word: 'Unknown', shape: 'triangle', tone: 'wait' },
} as const satisfies Readonly<Record<ApplicationSync, Look>>

const PHASES = {
  running: { word: 'Running', shape: 'arc', tone: 'run' },
  terminating: { word: 'Terminating', shape: 'outline', tone: 'stop' },
  succeeded: { word: 'Succeeded', shape: 'check', tone: 'ok' },
  failed: { word: 'Failed', shape: 'cross', tone: 'bad' },
  error: { word: 'Error', shape: 'cross', tone: 'bad' },
  unknown: { word: 'Unknown', shape: 'triangle', tone: 'wait' },
} as const satisfies Readonly<Record<SyncPhase, Look>>

const TUNNELS = {
  connecting: { word: 'Connecting', shape: 'dot', tone: 'run' },
  online: { word: 'Connected', shape: 'check', tone: 'ok' },
  stale: { word: 'Not answering', shape: 'triangle', tone: 'wait' },
  offline: { word: 'Not connected', shape: 'cross', tone: 'bad' },
} as const satisfies Readonly<Record<TunnelStatus, Look>>

const NEVER_CONNECTED: Look = { word: 'Never connected', shape: 'dash', tone: 'idle' }

export const lookOfHealth = (health: ApplicationHealth): Look => lookIn(HEALTHS, health)
export const lookOfSync = (sync: ApplicationSync): Look => lookIn(SYNCS, sync)
export const lookOfPhase = (phase: SyncPhase): Look => lookIn(PHASES, phase)

const RELEASES = {
  queued: { word: 'Queued', shape: 'hourglass', tone: 'wait' },
  running: { word: 'Running', shape: 'arc', tone: 'run' },
  suspended: { word: 'Waits for a pull request', shape: 'bars', tone: 'wait' },
  terminating: { word: 'Stopping', shape: 'outline', tone: 'stop' },
  succeeded: { word: 'Succeeded', shape: 'check', tone: 'ok' },
  failed: { word: 'Failed', shape: 'cross', tone: 'bad' },
  terminated: { word: 'Terminated', shape: 'square', tone: 'stop' },
} as const satisfies Readonly<Record<ReleaseStatus, Look>>

const STEPS = {
  ...RELEASES,
  pending: { word: 'Not started', shape: 'dash', tone: 'idle' },
  skipped: { word: 'Skipped', shape: 'dash', tone: 'idle' },
  before: { word: 'Build before it', shape: 'arc', tone: 'run' },
  committing: { word: 'Committing', shape: 'arc', tone: 'run' },
  syncing: { word: 'Syncing', shape: 'arc', tone: 'run' },
  after: { word: 'Build after it', shape: 'arc', tone: 'run' },
} as const satisfies Readonly<Record<ReleaseStepState | PromotionState, Look>>

export const lookOfRelease = (status: ReleaseStatus): Look => lookIn(RELEASES, status)
/** Returns the look of a step of a release, or of the promotion of one application. */
export const lookOfStep = (state: ReleaseStepState | PromotionState): Look => lookIn(STEPS, state)

/** Returns the look of a tunnel. One that has never been connected is no fault: a runtime with an Ingress has none. */
export function lookOfTunnel({ status, seenAt }: Pick<Tunnel, 'status' | 'seenAt'>): Look {
  return status === 'offline' && seenAt === undefined ? NEVER_CONNECTED : lookIn(TUNNELS, status)
}

/** Returns the look of a state. A newer server may have other states. */
export function lookIn(looks: Readonly<Record<string, Look>>, state: string): Look {
  return (Object.hasOwn(looks, state) ? looks[state] : undefined) ?? { word: state, shape: 'dash', tone: 'idle' }
}
