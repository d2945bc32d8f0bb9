/** State machines of a build and of an attempt. The two tables define every allowed transition. */
import type { BuildStatus } from '../lists.ts'

/** Events that can change the status of a build. `requeue`: its attempt is lost or its approval was given, so it must be scheduled again. */
export const BUILD_TRIGGERS = [
  'delay',
  'elect',
  'begin',
  'wait',
  'approve',
  'deny',
  'requeue',
  'cancel',
  'expire',
  'end-success',
  'end-error',
  'end-terminated',
] as const
export type BuildTrigger = (typeof BUILD_TRIGGERS)[number]

const BUILD_TABLE: Readonly<Record<BuildStatus, Partial<Record<BuildTrigger, BuildStatus>>>> = {
  pending: {
    delay: 'delayed',
    elect: 'elected',
    wait: 'pending-approval',
    cancel: 'terminated',
    expire: 'terminated',
    'end-error': 'error',
  },
  delayed: { requeue: 'pending', elect: 'elected', cancel: 'terminated', expire: 'terminated', 'end-error': 'error' },
  elected: { begin: 'running', requeue: 'pending', cancel: 'terminating', expire: 'terminating', 'end-error': 'error' },
  running: {
    wait: 'pending-approval',
    requeue: 'pending',
    cancel: 'terminating',
    expire: 'terminating',
    'end-success': 'success',
    'end-error': 'error',
    'end-terminated': 'terminated',
  },
  'pending-approval': {
    begin: 'running',
    approve: 'pending',
    deny: 'error',
    requeue: 'pending',
    cancel: 'terminated',
    expire: 'terminated',
    'end-error': 'error',
  },
  terminating: { requeue: 'terminated', 'end-success': 'terminated', 'end-error': 'terminated', 'end-terminated': 'terminated' },
  success: {},
  error: {},
  terminated: {},
}

/** Returns the status after `trigger`, or undefined if it does not apply (late and duplicate events are normal). */
export function transition(status: BuildStatus, trigger: BuildTrigger): BuildStatus | undefined {
  return BUILD_TABLE[status][trigger]
}

export const ATTEMPT_STATUSES = ['created', 'started', 'suspect', 'lost', 'ended'] as const
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number]

/** `lapse`: the lease of the engine expired; `confirm`: its pods are gone, so that the next attempt may start. */
export const ATTEMPT_TRIGGERS = ['claim', 'heartbeat', 'lapse', 'lose', 'confirm', 'end'] as const
export type AttemptTrigger = (typeof ATTEMPT_TRIGGERS)[number]

const ATTEMPT_TABLE: Readonly<Record<AttemptStatus, Partial<Record<AttemptTrigger, AttemptStatus>>>> = {
  created: { claim: 'started', lapse: 'suspect', lose: 'lost', end: 'ended' },
  started: { heartbeat: 'started', lapse: 'suspect', lose: 'lost', end: 'ended' },
  suspect: { claim: 'started', heartbeat: 'started', lose: 'lost', end: 'ended' },
  lost: { confirm: 'ended' },
  ended: {},
}

/** Returns the status of an attempt after `trigger`, or undefined if it does not apply. A lost attempt is fenced and never comes back. */
export function attemptTransition(status: AttemptStatus, trigger: AttemptTrigger): AttemptStatus | undefined {
  return ATTEMPT_TABLE[status][trigger]
}
