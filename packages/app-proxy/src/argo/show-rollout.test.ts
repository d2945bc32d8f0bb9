/** What is shown of a rollout, by its manifest. */
import { expect, test } from 'vitest'
import { RolloutManifest } from './rollout-manifest.ts'
import { toRollout } from './show-rollout.ts'

const STEPS = [
  { setWeight: 20 },
  { pause: { duration: '10m' } },
  { analysis: { templates: [{ templateName: 'errors' }] } },
  { setWeight: 60 },
  { pause: {} },
]

function shown(status: object, spec: object = {}) {
  const manifest = RolloutManifest.parse({
    metadata: { name: 'front', namespace: 'shop', uid: 'u', generation: 3 },
    spec: { replicas: 2, strategy: { canary: { steps: STEPS } }, ...spec },
    status: { observedGeneration: '3', currentPodHash: 'b', stableRS: 'a', phase: 'Progressing', ...status },
  })
  return toRollout({
    manifest,
    nodes: [],
    actions: new Map([
      ['abort', true],
      ['resume', false],
    ]),
  })
}
const statesOf = (status: object, spec?: object): string =>
  shown(status, spec)
    .steps.map(({ state }) => state)
    .join(' ')

test.each([
  [
    'waits for a time',
    { currentStepIndex: 1, pauseConditions: [{ reason: 'CanaryPauseStep' }] },
    'passed active pending pending pending',
  ],
  [
    'waits for somebody',
    { currentStepIndex: 4, pauseConditions: [{ reason: 'CanaryPauseStep' }] },
    'passed passed passed passed paused-indefinite',
  ],
  [
    'has an analysis without a result',
    { currentStepIndex: 2, pauseConditions: [{ reason: 'InconclusiveAnalysisRun' }] },
    'passed passed paused-inconclusive pending pending',
  ],
  [
    'has an analysis that failed',
    { currentStepIndex: 2, canary: { currentStepAnalysisRunStatus: { name: 'r', status: 'Failed' } } },
    'passed passed failed pending pending',
  ],
  ['has no room', { currentStepIndex: 0, phase: 'Degraded' }, 'failed pending pending pending pending'],
  [
    'is aborted',
    { currentStepIndex: 0, abort: true, phase: 'Degraded' },
    'terminated terminated terminated terminated terminated',
  ],
  ['is complete', { currentStepIndex: 5, stableRS: 'b' }, 'passed passed passed passed passed'],
])('the steps of a rollout that %s have their states', (_what, status, states) => {
  expect(statesOf(status)).toBe(states)
})

test('a rollout that a user has paused waits for somebody at each step', () => {
  expect(statesOf({ currentStepIndex: 3 }, { paused: true })).toBe('passed passed passed paused-indefinite pending')
})

test.each([
  [{ currentStepIndex: 0 }, 20],
  [{ currentStepIndex: 4 }, 60],
  [{ currentStepIndex: 5 }, 100],
  [{ currentStepIndex: 4, canary: { weights: { canary: { weight: 33 } } } }, 33],
  [{ currentStepIndex: 0, abort: true }, 0],
  [{ stableRS: 'b' }, 100],
])('the weight at %j is %i', (status, weight) => {
  expect(shown(status).weight).toBe(weight)
})

test('a phase counts only for what the controller has seen', () => {
  expect(shown({ observedGeneration: '2', phase: 'Healthy' })).toMatchObject({ phase: 'progressing' })
  expect(shown({ controllerPause: true, phase: 'Paused' })).toMatchObject({ phase: 'progressing' })
  expect(shown({ phase: 'Healthy' })).toMatchObject({ phase: 'healthy', actions: ['abort'], strategy: 'canary' })
  expect(shown({ phase: 'Later' })).toMatchObject({ phase: 'unknown' })
})

test('a blue-green rollout has no steps, and names its services and analyses', () => {
  const blueGreen = { activeService: 'front', previewService: 'front-preview' }
  const status = { blueGreen: { prePromotionAnalysisRunStatus: { name: 'front-b-pre', status: 'Running', message: 'measures' } } }
  expect(shown(status, { strategy: { blueGreen } })).toMatchObject({
    strategy: 'blue-green',
    steps: [],
    services: ['front', 'front-preview'],
    analyses: [{ of: 'pre-promotion', name: 'front-b-pre', status: 'Running', message: 'measures' }],
  })
})
