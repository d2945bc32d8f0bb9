import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { styleFor } from '../../format/style.ts'
import type { Printer, Terminal } from '../../printer.ts'
import { checkInstallerValues } from '../values/installer-values.ts'
import { silentAsker } from './asker.ts'
import { detectProxies } from './detect-proxies.ts'
import { agentNameOf, freeNamespace, runtimeFileOf, runtimeNameOf } from './names.ts'
import { planInstallation, STEPS, type Choices, type StepName } from './plan.ts'
import { findBefore } from './resume.ts'
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
  demo: 'run',
  helmValuesFile: undefined,
  dryRun: false,
}
const doneBy = (choices: Partial<Choices>): StepName[] =>
  planInstallation({ ...all, ...choices }).flatMap(({ name, skipped }) => (skipped === undefined ? [name] : []))

test('the plan of an installation, and what each choice leaves out', () => {
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

test('R026 R027 R028: the skipping flags leave out what they say', () => {
  expect(doneBy({ skipTest: true })).not.toContain('test-cluster')
  expect(doneBy({ skipIntegration: true })).not.toContain('add-cluster')
  expect(doneBy({ inCluster: true })).not.toContain('add-cluster')
  expect(doneBy({ demo: 'none' })).not.toContain('run-demo')
  expect(doneBy({ demo: 'none' })).not.toContain('create-demo')
})

test('R029: an installation without a monitor reports none', () => {
  const events = (monitor: boolean): string[] => planInstallation({ ...all, monitor }).flatMap((step) => step.events)
  expect(events(true)).toContain('monitor-installed')
  expect(events(false)).not.toContain('monitor-installed')
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

test('R039: the state of an installation is a private file of its own, and its marks tell how far it came', () => {
  saveState(folder, state)
  const [name = ''] = readdirSync(folder)
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
  expect(JSON.parse(readFileSync(join(folder, name), 'utf8'))).toEqual(state)
  expect(listStates(folder)).toEqual([state])
  const lines = markLines(
    [
      { name: 'test-cluster', title: 'Test' },
      { name: 'create-agent', title: 'Agent' },
      { name: 'add-cluster', title: 'Cluster', skipped: 'not asked for' },
      { name: 'check-runner', title: 'Check' },
    ],
    state.marks,
  )
  expect(lines).toEqual(['✓ Test', '✘ Agent (no)', '⤳ Cluster (not asked for)', '◼ Check'])
})

const silent: Terminal = {
  isTTY: false,
  columns: 80,
  style: styleFor(false),
  write: () => undefined,
  drained: async () => undefined,
}
const out: Printer = { stdout: silent, stderr: silent, line: () => undefined, note: () => undefined }

test('an installation goes on with the settings it was begun with, never silently with others', async () => {
  saveState(folder, state)
  const search = { folder, asker: silentAsker, out, startOver: false }
  const wishes = { installer: checkInstallerValues({ Namespace: 'builds' }, 'v'), chart: {} }
  expect(await findBefore({ ...search, wishes, asked: 'print' })).toEqual(state)
  await expect(findBefore({ ...search, wishes, asked: 'other' })).rejects.toThrow('other settings')
  const elsewhere = { installer: checkInstallerValues({ Namespace: 'elsewhere' }, 'v'), chart: {} }
  expect(await findBefore({ ...search, wishes: elsewhere, asked: 'other' })).toBeUndefined()
  expect(await findBefore({ ...search, wishes, asked: 'other', startOver: true })).toBeUndefined()
  expect(listStates(folder)).toEqual([])
})

test('R039 R040: steps run once, in order; one that failed is told and runs again, those before it do not', async () => {
  const plan = planInstallation({ ...all, demo: 'none' })
  let current: InstallState = { ...state, marks: {} }
  const progress: Progress = {
    get state() {
      return current
    },
    update: (changes) => void (current = { ...current, ...changes }),
  }
  const ran: string[] = []
  const told: string[] = []
  let broken = true
  const actions = Object.fromEntries(
    STEPS.map((name) => [
      name,
      async () => {
        ran.push(name)
        if (name === 'create-runtime' && broken) throw new Error('the server is away')
      },
    ]),
  ) as Record<StepName, () => Promise<void>>
  const report = async ({ event, status }: { event: string; status: string }): Promise<void> =>
    void told.push(`${event} ${status}`)
  await expect(runPlan({ plan, actions, progress, report, out })).rejects.toThrow('the server is away')
  expect(ran).toEqual(['test-cluster', 'create-agent', 'store-token', 'create-runtime'])
  expect(told).toEqual(['acceptance-tests-ran success', 'agent-created success', 'agent-updated failure'])
  expect(current.marks['create-runtime']).toEqual({ status: 'failed', message: 'the server is away' })
  broken = false
  ran.length = 0
  await runPlan({ plan, actions, progress, report, out })
  expect(ran).toEqual(['create-runtime', 'set-default', 'add-cluster', 'install-runner', 'check-runner'])
  // Cut short between the end of a step and the telling of it.
  current = { ...current, marks: { ...current.marks, 'create-agent': { status: 'done' } } }
  told.length = 0
  await runPlan({ plan, actions, progress, report, out })
  expect(told).toEqual(['agent-created success'])
  removeState(folder, current)
})

test('R025 R042: names are made of context and namespace, and get a number when they are taken', () => {
  expect(agentNameOf('prod', 'builds', [])).toBe('prod_builds')
  expect(agentNameOf('prod', 'builds', ['prod_builds', 'prod_builds_1'])).toBe('prod_builds_2')
  expect(runtimeNameOf('prod', 'builds', ['prod/builds'])).toBe('prod/builds_1')
  expect(runtimeNameOf('x'.repeat(80), 'builds', [])).toHaveLength(63)
  expect(runtimeNameOf('a context', 'n', [])).toBe('a-context/n')
  expect(freeNamespace(['codefresh', 'codefresh-1'])).toBe('codefresh-2')
  expect(runtimeFileOf('user@host:6443/ns')).toBe('user.host.6443.ns.runtime.yaml')
})

test('R034: proxies of this machine are found, and those that somebody names win over them', async () => {
  const settings = readSettings({ HOME: '/nowhere', https_proxy: 'http://user:secret@proxy:3128', NO_PROXY: '.local' })
  const found = await detectProxies({ installer: {}, chart: {} }, silentAsker, settings)
  expect(found.installer.EnvVars).toEqual({ HTTPS_PROXY: 'http://user:secret@proxy:3128', NO_PROXY: '.local' })
  const said = { installer: { EnvVars: { HTTP_PROXY: 'http://other' } }, chart: {} }
  expect(await detectProxies(said, silentAsker, settings)).toBe(said)
})
