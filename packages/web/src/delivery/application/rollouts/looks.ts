/** The word, shape and color of the states of rollouts and their steps. */
import type { RolloutPhase, RolloutStepState } from '@windlass/protocol'
import type { Look } from '../../../looks/states.ts'
import { lookIn } from '../../states.ts'

const PHASES = {
  healthy: { word: 'Healthy', shape: 'check', tone: 'ok' },
  progressing: { word: 'Progressing', shape: 'arc', tone: 'run' },
  paused: { word: 'Paused', shape: 'bars', tone: 'wait' },
  degraded: { word: 'Degraded', shape: 'cross', tone: 'bad' },
  unknown: { word: 'Unknown', shape: 'triangle', tone: 'wait' },
} as const satisfies Readonly<Record<RolloutPhase, Look>>

const STEPS = {
  passed: { word: 'Passed', shape: 'check', tone: 'ok' },
  active: { word: 'Active', shape: 'arc', tone: 'run' },
  'paused-indefinite': { word: 'Waits', shape: 'bars', tone: 'wait' },
  'paused-inconclusive': { word: 'Inconclusive', shape: 'triangle', tone: 'wait' },
  failed: { word: 'Failed', shape: 'cross', tone: 'bad' },
  pending: { word: 'Not started', shape: 'dash', tone: 'idle' },
  terminated: { word: 'Aborted', shape: 'square', tone: 'stop' },
} as const satisfies Readonly<Record<RolloutStepState, Look>>

export const lookOfRollout = (phase: RolloutPhase): Look => lookIn(PHASES, phase)
export const lookOfStep = (state: RolloutStepState): Look => lookIn(STEPS, state)
