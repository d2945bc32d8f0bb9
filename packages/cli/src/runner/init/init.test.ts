import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { recordOutput } from '../../../test/recorded-output.ts'
import { listNoEffect } from '../values/chart-values.ts'
import { checkInstallerValues } from '../values/installer-values.ts'
import { defaultPrompter } from './prompter.ts'
import { detectProxies } from './detect-proxies.ts'
import { agentNameOf, freeNamespace, runtimeFileOf, runtimeNameOf } from './names.ts'
import { planInstallation, STEPS, type Choices, type StepName } from './plan.ts'
import { prepare, type InitFlags } from './prepare.ts'
import { findUnfinished } from './resume.ts'
import { runPlan, type Progress } from './run-plan.ts'
import { listStates, markLines, removeState, saveState, type InstallState } from './state.ts'
import { readSettings } from '../../config.ts'

const folder = mkdtempSync(join(tmpdir(), 'windlass-state-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const all: Choices = {
  skipTest: false,
  skipIntegration: false,
  inCluster: false,
  makeDefault: true,
  monitor: true,
  appProxy: true,
  demo: 'run',
  helmValuesFile: undefined,
  dryRun: false,
}
const doneBy = (choices: Partial<Choices>): StepName[] =>
  planInstallation({ ...all, ...choices }).flatMap(({ name, skipped }) => (skipped === undefined ? [name] : []))

test('plans an installation without the steps that the choices exclude', () => {
  expect(doneBy({})).toEqual(STEPS.filter((name) => name !== 'write-helm-values'))
  expect(doneBy({ dryRun: true })).toEqual(['install-runner'])
  expect(doneBy({ helmValuesFile: 'v.yaml', demo: 'create' })).toEqual([
    'create-agent',
    'create-runtime',
    'set-default',
    'add-cluster',
    'write-helm-values',
    'create-demo',
  ])
})

test('the skip flags exclude their steps (R026, R027, R028)', () => {
  expect(doneBy({ skipTest: true })).not.toContain('test-cluster')
  expect(doneBy({ skipIntegration: true })).not.toContain('add-cluster')
  expect(doneBy({ inCluster: true })).not.toContain('add-cluster')
  expect(doneBy({ demo: 'none' })).not.toContain('run-demo')
  expect(doneBy({ demo: 'none' })).not.toContain('create-demo')
})

test('an installation without a monitor does not report one (R029)', () => {
  const events = (monitor: boolean): string[] => planInstallation({ ...all, monitor }).flatMap((step) => step.events)
  expect(events(true)).toContain('monitor-installed')
  expect(events(false)).not.toContain('monitor-installed')
})

test('the app-proxy has a step of its own, and is reported only if it is installed', () => {
  const events = planInstallation(all).flatMap((step) => step.events)
  expect(events).toContain('app-proxy-installed')
  expect(planInstallation({ ...all, appProxy: false }).flatMap((step) => step.events)).not.toContain('app-proxy-installed')
  expect(doneBy({ appProxy: false })).not.toContain('register-app-proxy')
})

/** Prepares an installation as `runner init --yes` does, in a cluster that is never called. */
async function choicesOf(installer: object, flags: Partial<InitFlags> = {}): Promise<Choices> {
  const kubeconfig = join(folder, 'kubeconfig')
  const cluster = { server: 'https://127.0.0.1:1' }
  const named = { name: 'c', cluster, user: { token: 't' }, context: { cluster: 'c', user: 'c' } }
  writeFileSync(kubeconfig, JSON.stringify({ 'current-context': 'c', contexts: [named], clusters: [named], users: [named] }))
  const given = { ConfigPath: kubeconfig, Context: 'c', Namespace: 'builds', ...installer }
  const { cluster: open, choices } = await prepare({
    installValues: { installer: checkInstallerValues(given, 'v'), chart: {} },
    flags: { dryRun: false, ...flags },
    prompter: defaultPrompter,
    settings: readSettings({ HOME: '/nowhere' }),
    session: undefined,
    before: undefined,
  })
  await open[Symbol.asyncDispose]()
  return choices
}

test('the monitor needs the registered cluster: --install-monitor has no effect with --skip-cluster-integration (R171)', async () => {
  expect(await choicesOf({ Monitor: { Enabled: true } })).toMatchObject({ monitor: true, skipIntegration: false })
  const skipped = await choicesOf({ Monitor: { Enabled: true }, SkipClusterIntegration: true })
  expect(skipped).toMatchObject({ monitor: false, skipIntegration: true })
  expect(planInstallation(skipped).flatMap(({ events }) => events)).not.toContain('monitor-installed')
  const both = checkInstallerValues({ Monitor: { Enabled: true }, SkipClusterIntegration: true }, 'v')
  expect(listNoEffect(both)).toEqual([
    '--install-monitor: the monitor needs the cluster that --skip-cluster-integration does not register',
  ])
})

test('on Rancher a personal account installs without a cluster record, with the address that pods reach (R159)', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../../docs/runner/clouds/rke.md'), 'utf8')
  const [, flag = '', host = ''] = /windlass runner init --(skip-\S+) --set-value KubernetesHost=(\S+)/.exec(page) ?? []
  expect(flag).toBe('skip-cluster-integration')
  const choices = await choicesOf({ SkipClusterIntegration: true, KubernetesHost: host })
  expect(doneBy(choices)).not.toContain('add-cluster')
  expect(doneBy(choices)).toContain('install-runner')
})

const state: InstallState = {
  url: 'https://w',
  context: 'arn:aws:eks:eu:1:cluster/x',
  namespace: 'builds',
  agentName: 'a',
  runtimeName: 'r',
  makeDefault: true,
  monitor: true,
  demo: 'none',
  wishes: 'print',
  startedAt: 1,
  marks: { 'test-cluster': { status: 'done' }, 'create-agent': { status: 'failed', message: 'no' } },
}

test('stores the state of an installation in a private file, with the progress of its steps (R039)', () => {
  saveState(folder, state)
  const [name = ''] = readdirSync(folder)
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
  expect(JSON.parse(readFileSync(join(folder, name), 'utf8'))).toEqual(state)
  expect(listStates(folder)).toEqual([state])
  const lines = markLines(
    [
      { name: 'test-cluster', title: 'Test' },
      { name: 'create-agent', title: 'Agent' },
      { name: 'add-cluster', title: 'Cluster', skipped: 'not requested' },
      { name: 'check-runner', title: 'Check' },
    ],
    state.marks,
  )
  expect(lines).toEqual(['✓ Test', '✘ Agent (no)', '⤳ Cluster (not requested)', '◼ Check'])
})

const out = recordOutput()

test('an installation continues with its settings, and with others only after confirmation', async () => {
  saveState(folder, state)
  const search = { folder, prompter: defaultPrompter, out, startOver: false }
  const installValues = { installer: checkInstallerValues({ Namespace: 'builds' }, 'v'), chart: {} }
  expect(await findUnfinished({ ...search, installValues, asked: 'print' })).toEqual(state)
  await expect(findUnfinished({ ...search, installValues, asked: 'other' })).rejects.toThrow('other settings')
  const elsewhere = { installer: checkInstallerValues({ Namespace: 'elsewhere' }, 'v'), chart: {} }
  expect(await findUnfinished({ ...search, installValues: elsewhere, asked: 'other' })).toBeUndefined()
  expect(await findUnfinished({ ...search, installValues, asked: 'other', startOver: true })).toBeUndefined()
  expect(listStates(folder)).toEqual([])
})

test('runs steps once and in order, reports a failed step, and resumes at it (R039, R040)', async () => {
  const plan = planInstallation({ ...all, appProxy: false, demo: 'none' })
  let current: InstallState = { ...state, marks: {} }
  const progress: Progress = {
    get state() {
      return current
    },
    update: (changes) => void (current = { ...current, ...changes }),
  }
  const ran: string[] = []
  const reported: string[] = []
  let broken = true
  const actions = Object.fromEntries(
    STEPS.map((name) => [
      name,
      async () => {
        ran.push(name)
        if (name === 'create-runtime' && broken) throw new Error('the server is unreachable')
      },
    ]),
  ) as Record<StepName, () => Promise<void>>
  const report = async ({ event, status }: { event: string; status: string }): Promise<void> =>
    void reported.push(`${event} ${status}`)
  await expect(runPlan({ plan, actions, progress, report, out })).rejects.toThrow('the server is unreachable')
  expect(ran).toEqual(['test-cluster', 'create-agent', 'store-token', 'create-runtime'])
  expect(out.notes).toContain('… Test the cluster (up to 2 min)')
  expect(reported).toEqual(['acceptance-tests-ran success', 'agent-created success', 'agent-updated failure'])
  expect(current.marks['create-runtime']).toEqual({ status: 'failed', message: 'the server is unreachable' })
  broken = false
  ran.length = 0
  await runPlan({ plan, actions, progress, report, out })
  expect(ran).toEqual(['create-runtime', 'set-default', 'add-cluster', 'install-runner', 'check-runner'])
  // Interrupted between the end of a step and its report.
  current = { ...current, marks: { ...current.marks, 'create-agent': { status: 'done' } } }
  reported.length = 0
  await runPlan({ plan, actions, progress, report, out })
  expect(reported).toEqual(['agent-created success'])
  removeState(folder, current)
})

test('builds names from context and namespace, with a number if they are taken (R025, R042)', () => {
  expect(agentNameOf('prod', 'builds', [])).toBe('prod_builds')
  expect(agentNameOf('prod', 'builds', ['prod_builds', 'prod_builds_1'])).toBe('prod_builds_2')
  expect(runtimeNameOf('prod', 'builds', ['prod/builds'])).toBe('prod/builds_1')
  expect(runtimeNameOf('x'.repeat(80), 'builds', [])).toHaveLength(63)
  expect(runtimeNameOf('a context', 'n', [])).toBe('a-context/n')
  expect(freeNamespace(['codefresh', 'codefresh-1'])).toBe('codefresh-2')
  expect(runtimeFileOf('user@host:6443/ns')).toBe('user.host.6443.ns.runtime.yaml')
})

test('detects the proxies of the environment; proxies in the values take precedence (R034)', async () => {
  const settings = readSettings({
    HOME: '/nowhere',
    HTTP_PROXY: 'user:s@cret@proxy',
    https_proxy: 'http://user:s@cret@proxy:3128',
    NO_PROXY: '.local',
  })
  const asked: string[] = []
  const confirm = async (question: string): Promise<boolean> => asked.push(question) > 0
  const found = await detectProxies({ installer: {}, chart: {} }, { ...defaultPrompter, confirm }, settings)
  expect(found.installer.EnvVars).toEqual({
    HTTP_PROXY: 'user:s@cret@proxy',
    HTTPS_PROXY: 'http://user:s@cret@proxy:3128',
    NO_PROXY: '.local',
  })
  expect(asked).toEqual([
    'Use HTTP_PROXY=*****@proxy of this machine in the cluster?',
    'Use HTTPS_PROXY=http://*****@proxy:3128 of this machine in the cluster?',
    'Use NO_PROXY=.local of this machine in the cluster?',
  ])
  const given = { installer: { EnvVars: { HTTP_PROXY: 'http://other' } }, chart: {} }
  expect(await detectProxies(given, defaultPrompter, settings)).toBe(given)
})
