import { APP_PROXY_SILENT_MS, REPORTER_SILENT_MS, RUNTIME_CHECKS, type CheckResult, type RuntimeStatus } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { judgeRuntime, type RuntimeFacts } from './judge.ts'

const NOW = 1_764_000_000_000
const OK: CheckResult = { status: 'successful', description: 'It works.' }
const HEALTHY: RuntimeFacts = {
  runtime: 'prod',
  tunnel: { status: 'online' },
  appProxy: {
    heardAt: NOW,
    report: {
      version: '1.2.3',
      checks: Object.fromEntries(RUNTIME_CHECKS.map((name) => [name, OK])),
      syncMode: 'helm',
      argoCd: { state: 'connected' },
    },
  },
  reporters: [{ shard: 0, shards: 1, version: '1.2.3', heardAt: NOW, completeAt: NOW, knownAt: NOW, isBlind: false }],
  clusters: { count: 1, failed: 0 },
  hasSharedRepository: true,
}

const judge = (facts: Partial<RuntimeFacts>, now = NOW): RuntimeStatus => judgeRuntime({ ...HEALTHY, ...facts }, now)
const statusesOf = ({ checks }: RuntimeStatus): string[] => checks.map(({ name, status }) => `${name} ${status}`)
const reporterWith = (more: object): Partial<RuntimeFacts> => ({
  reporters: HEALTHY.reporters.map((one) => ({ ...one, ...more })),
})

test('a runtime whose parts all work has no problem', () => {
  const status = judge({})
  expect(statusesOf(status)).toEqual(RUNTIME_CHECKS.map((name) => `${name} successful`))
  expect(status).toMatchObject({ syncMode: 'helm', argoCd: { state: 'connected' }, problems: [] })
})

test('a silent app-proxy fails one check, and makes the others unknown', () => {
  const at = NOW + APP_PROXY_SILENT_MS
  expect(judge(reporterWith({ heardAt: at }), at).problems).toEqual([])
  const status = judge(reporterWith({ heardAt: at + 1 }), at + 1)
  expect(statusesOf(status)).toEqual(RUNTIME_CHECKS.map((name) => `${name} ${name === 'appProxyStarted' ? 'failed' : 'unknown'}`))
  expect(status).toMatchObject({ syncMode: 'unknown', argoCd: { state: 'unknown' }, appProxy: { isSilent: true, heardAt: NOW } })
  expect(status.problems).toEqual([expect.stringMatching(/^The app-proxy has not reported since 2025-\S+\. Check its pod, /)])
})

test('a runtime without an app-proxy, such as one that was only named, has no failed check', () => {
  const status = judge({ appProxy: undefined, reporters: [] })
  expect(new Set(status.checks.map((check) => check.status))).toEqual(new Set(['unknown']))
  expect(status.problems).toEqual([])
})

test('only the server knows that no shared repository was chosen', () => {
  const status = judge({ hasSharedRepository: false })
  expect(status.checks.filter((check) => check.status !== 'successful')).toMatchObject([{ name: 'isc', status: 'failed' }])
  expect(status.problems).toEqual([expect.stringContaining('windlass gitops config set')])
})

test('each reporter is silent, blind or absent for itself', () => {
  const at = NOW + REPORTER_SILENT_MS + 1
  const appProxy = HEALTHY.appProxy && { ...HEALTHY.appProxy, heardAt: at }
  const parts = [
    { shard: 0, shards: 3, version: '1', heardAt: at, completeAt: at, knownAt: at, isBlind: false },
    { shard: 1, shards: 3, version: '1', heardAt: NOW, completeAt: NOW, knownAt: NOW, isBlind: false },
    { shard: 2, shards: 3, version: '', knownAt: NOW, isBlind: false },
  ]
  const status = judge({ appProxy, reporters: parts }, at)
  expect(status.reporters.map(({ isSilent }) => isSilent)).toEqual([false, true, true])
  expect(status.problems).toEqual([
    expect.stringContaining('The event reporter 1 of 3 has not reported since'),
    expect.stringContaining('The event reporter 2 of 3 has never reported'),
  ])
  expect(judge(reporterWith({ isBlind: true })).problems).toEqual([
    expect.stringMatching(/^The event reporter cannot read all applications since /),
  ])
})

test('Argo CD that is gone is a problem of its own; a token that it refuses is a failed check', () => {
  const withArgo = (state: 'not-found' | 'not-authorized', token: CheckResult): RuntimeStatus => {
    const { report, heardAt } = HEALTHY.appProxy ?? { report: undefined, heardAt: NOW }
    if (report === undefined) throw new Error('no report')
    const checks = { ...report.checks, eventReporterArgoCDToken: token }
    return judge({ appProxy: { heardAt, report: { ...report, checks, argoCd: { state, message: `${state}.` } } } })
  }
  expect(withArgo('not-found', { status: 'unknown', description: '' }).problems).toEqual(['not-found.'])
  expect(withArgo('not-authorized', { status: 'failed', description: 'Refused', hint: 'Renew it' }).problems).toEqual([
    'Refused. Renew it.',
  ])
  expect(judge({ clusters: { count: 3, failed: 2 } }).problems).toEqual([expect.stringContaining('2 of 3 clusters')])
})
