import { expect, test } from 'vitest'
import type { RuntimeFacts, ServerFacts } from './facts.ts'
import { judgeRuntime, judgeServer } from './judge.ts'

const NOW = 1_800_000_000_000
const MINUTE = 60_000
const agent = { name: 'cluster-1', exists: true, isOnline: true, lastSeenAt: NOW - 1000, version: '1.2.3' }
const healthy: RuntimeFacts = {
  now: NOW,
  serverVersion: '1.2.9',
  running: 4,
  waiting: 0,
  capacity: 10,
  agent,
  pods: [],
  rejections: [],
  isPaused: false,
}
const pod = (reason: string, message?: string): RuntimeFacts['pods'][number] => ({
  reason,
  message,
  since: NOW - MINUTE,
  count: 2,
})

const FAILED = { check: 'rights', message: 'Missing permission', at: NOW - 3 * MINUTE }

const CAUSES: readonly [string, Partial<RuntimeFacts>, { level: string; sentence: string }][] = [
  [
    'agent-deleted',
    { agent: { ...agent, exists: false, isOnline: false }, waiting: 3 },
    { level: 'error', sentence: 'Agent "cluster-1" does not exist. 3 builds wait.' },
  ],
  [
    'agent-missing',
    { agent: undefined, waiting: 1 },
    { level: 'error', sentence: 'No agent serves the runtime. 1 build waits.' },
  ],
  [
    'agent-never-connected',
    { agent: { name: 'cluster-1', exists: true, isOnline: false } },
    { level: 'error', sentence: 'Agent "cluster-1" has never connected.' },
  ],
  [
    'agent-offline',
    { agent: { ...agent, isOnline: false, lastSeenAt: NOW - 3 * MINUTE }, running: 10, waiting: 2 },
    { level: 'error', sentence: 'Agent "cluster-1" has been silent for 3 min. 2 builds wait.' },
  ],
  ['account-paused', { isPaused: true, waiting: 2 }, { level: 'warning', sentence: 'New builds are paused. 2 builds wait.' }],
  [
    'account-paused',
    { isPaused: true, pauseReason: 'upgrade of the database', waiting: 1 },
    { level: 'warning', sentence: 'New builds are paused: upgrade of the database. 1 build waits.' },
  ],
  [
    'policy-refused',
    { rejections: [pod('policy-refused', 'The namespace "prod" is not allowed.')] },
    { level: 'error', sentence: 'The agent refuses objects of builds (2 builds): The namespace "prod" is not allowed.' },
  ],
  [
    'pod-rejected',
    { rejections: [pod('pod-rejected', 'exceeded quota: builds')] },
    { level: 'error', sentence: 'The cluster rejects objects of builds (2 builds): exceeded quota: builds' },
  ],
  [
    'pod-image-error',
    { pods: [pod('pod-image-error', 'ErrImagePull: not found')] },
    { level: 'error', sentence: 'Pods cannot pull an image (2 builds): ErrImagePull: not found' },
  ],
  ['disk-unavailable', { pods: [pod('disk-unavailable')] }, { level: 'error', sentence: 'Pods wait for a disk (2 builds).' }],
  [
    'engine-silent',
    {
      pods: [
        pod('engine-silent', 'The engine pod e runs but has not called http://w. Its log ends:\ndial w\nno route to host\n'),
      ],
    },
    { level: 'error', sentence: 'Engines run but do not reach the server (2 builds): no route to host' },
  ],
  [
    'unschedulable',
    { pods: [pod('unschedulable', '0/3 nodes are available: 3 Insufficient cpu.')] },
    { level: 'error', sentence: 'Pods find no node (2 builds): 0/3 nodes are available: 3 Insufficient cpu.' },
  ],
  [
    'pod-failed',
    { pods: [pod('pod-failed', 'crashed')] },
    { level: 'warning', sentence: 'Pods do not start (2 builds): crashed' },
  ],
  [
    'runtime-full',
    { running: 10, waiting: 4, fullSince: NOW - 6 * MINUTE, nextMs: 2 * MINUTE },
    { level: 'warning', sentence: 'Full for 6 min: 10 of 10 builds run, 4 wait. The next place is free in about 2 min.' },
  ],
  ['warm-pairs-fail', { pairProblem: 'image not found' }, { level: 'warning', sentence: 'Warm pairs fail: image not found' }],
  [
    'check-failed',
    { failedChecks: [FAILED, FAILED] },
    { level: 'warning', sentence: 'A check failed 3 min ago: rights: Missing permission. 1 other check failed too.' },
  ],
  [
    'versions-differ',
    { agent: { ...agent, version: '1.1.0' } },
    { level: 'warning', sentence: 'Agent "cluster-1" has version 1.1.0, the server 1.2.9.' },
  ],
]

test.each(CAUSES)('says in a sentence that a runtime has the cause %s', (code, facts, expected) => {
  const health = judgeRuntime({ ...healthy, ...facts })
  expect(health).toMatchObject(expected)
  expect(health.findings[0]?.code).toBe(code)
  expect(health.findings[0]?.hint).not.toBe('')
})

test('a failed check without a hint names the command that shows all findings of its agent', () => {
  const { findings } = judgeRuntime({ ...healthy, failedChecks: [FAILED] })
  expect(findings[0]?.hint).toBe('See all findings: `windlass doctor --agent cluster-1`.')
})

test('says how many builds run on a healthy runtime, also one without a limit and one that is full while none wait', () => {
  expect(judgeRuntime(healthy)).toEqual({ level: 'ok', sentence: '4 of 10 builds run, none wait.', findings: [] })
  expect(judgeRuntime({ ...healthy, capacity: undefined, running: 1, waiting: 1 }).sentence).toBe('1 build runs, 1 waits.')
  expect(judgeRuntime({ ...healthy, running: 10 }).level).toBe('ok')
  expect(judgeRuntime({ ...healthy, pods: [pod('start-limit')] }).level).toBe('ok')
})

test('puts the worst cause first: a silent agent before a full runtime, and each cause before all later ones of its level', () => {
  const all: RuntimeFacts = {
    ...healthy,
    running: 10,
    waiting: 4,
    agent: { ...agent, isOnline: false, lastSeenAt: NOW - MINUTE, version: '1.1.0' },
    pods: [pod('unschedulable')],
    pairProblem: 'gone',
    isPaused: true,
  }
  expect(judgeRuntime(all).findings.map(({ code }) => code)).toEqual([
    'agent-offline',
    'unschedulable',
    'account-paused',
    'runtime-full',
    'warm-pairs-fail',
    'versions-differ',
  ])
})

test('says what is wrong with the server, and names the worst runtime if that is worse', () => {
  const facts: ServerFacts = { freeShare: 0.5, minFreeShare: 0.05, isPaused: false, running: 4, waiting: 7 }
  const fine = { name: 'prod', health: judgeRuntime(healthy) }
  const dead = { name: 'edge', health: judgeRuntime({ ...healthy, agent: undefined }) }
  expect(judgeServer(facts, [fine])).toMatchObject({ level: 'ok', sentence: '1 runtime. 4 builds run, 7 wait.', findings: [] })
  expect(judgeServer(facts, [fine, dead])).toMatchObject({
    level: 'error',
    sentence: 'Runtime "edge": No agent serves the runtime.',
    runtimes: [
      { name: 'prod', level: 'ok' },
      { name: 'edge', level: 'error' },
    ],
  })
  expect(judgeServer({ ...facts, freeShare: 0.02 }, [dead])).toMatchObject({
    sentence: 'Only 2.0 % of the disk of the server is free; new builds need 5.0 %.',
    findings: [{ code: 'storage-full' }],
  })
  expect(judgeServer({ ...facts, freeShare: 0.08, logsFailSince: NOW }, [fine]).findings.map(({ code }) => code)).toEqual([
    'logs-not-writable',
    'storage-low',
  ])
})
