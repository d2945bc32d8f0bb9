/** The plan of `runner init` as data. Pure: the same choices give the same steps. */
import { defined } from '@windlass/kit/defined'
import type { INSTALLATION_EVENTS } from '@windlass/protocol'
import { START_MS } from '../../doctor/check-node.ts'
import { INSTALL_MS } from '../helm/helm.ts'

/** The answers and flags that determine the steps. They contain no secrets. */
export interface Choices {
  readonly skipTest: boolean
  readonly skipIntegration: boolean
  readonly inCluster: boolean
  readonly makeDefault: boolean
  readonly monitor: boolean
  readonly appProxy: boolean
  /** `create` creates the demo pipeline, `run` also runs it. */
  readonly demo: 'run' | 'create' | 'none'
  /** File for Helm values, which are written instead of installing. */
  readonly helmValuesFile: string | undefined
  /** Writes manifests without applying them. */
  readonly dryRun: boolean
}

export const STEPS = [
  'test-cluster',
  'create-agent',
  'store-token',
  'create-runtime',
  'set-default',
  'add-cluster',
  'register-app-proxy',
  'install-runner',
  'check-runner',
  'write-helm-values',
  'create-demo',
  'run-demo',
] as const
export type StepName = (typeof STEPS)[number]

export interface PlannedStep {
  readonly name: StepName
  readonly title: string
  /** Why the step is skipped; absent if it runs. */
  readonly skipped?: string
  /** Longest duration of a step that waits for the cluster; absent for short steps. Milliseconds. */
  readonly upToMs?: number
  /** Events reported to the server when it ends, in this order. */
  readonly events: readonly (typeof INSTALLATION_EVENTS)[number][]
}

/** How long the wizard waits for the agent. Milliseconds. */
export const AGENT_WAIT_MS = 180_000

interface Rule {
  readonly title: string
  readonly events: PlannedStep['events']
  readonly upToMs?: number
  /** Returns the reason to skip the step; undefined to run it. */
  readonly unless: (choices: Choices) => string | undefined
  /** True if the step is part of a dry run. */
  readonly dry?: true
}

const byHelm = ({ helmValuesFile }: Choices): string | undefined =>
  helmValuesFile === undefined ? undefined : 'installed with Helm'

const RULES: Readonly<Record<StepName, Rule>> = {
  'test-cluster': {
    title: 'Test the cluster',
    upToMs: START_MS,
    events: ['acceptance-tests-ran'],
    unless: (choices) => (choices.skipTest ? '--skip-cluster-test' : byHelm(choices)),
  },
  'create-agent': { title: 'Register the agent', events: ['agent-created'], unless: () => undefined },
  'store-token': { title: "Store the agent's token in the cluster", events: [], unless: byHelm },
  'create-runtime': { title: 'Create the runtime environment', events: ['agent-updated'], unless: () => undefined },
  'set-default': {
    title: 'Make it the default',
    events: [],
    unless: ({ makeDefault }) => (makeDefault ? undefined : 'not requested'),
  },
  'add-cluster': {
    title: 'Register the cluster for deployments',
    events: ['cluster-integration-added'],
    unless: ({ skipIntegration, inCluster }) =>
      skipIntegration ? '--skip-cluster-integration' : inCluster ? 'run within the cluster' : undefined,
  },
  'register-app-proxy': {
    title: 'Register the app-proxy',
    events: [],
    unless: (choices) => (choices.appProxy ? byHelm(choices) : 'not requested'),
  },
  'install-runner': {
    title: 'Install agent, volumes, monitor and app-proxy',
    upToMs: INSTALL_MS,
    events: ['agent-installed', 'runtime-installed', 'monitor-installed', 'app-proxy-installed', 'runner-installed'],
    unless: byHelm,
    dry: true,
  },
  'check-runner': { title: 'Wait for the agent', upToMs: AGENT_WAIT_MS, events: [], unless: byHelm },
  'write-helm-values': {
    title: 'Write values for Helm',
    events: [],
    unless: ({ helmValuesFile }) => (helmValuesFile === undefined ? 'not requested' : undefined),
  },
  'create-demo': {
    title: 'Create the demo pipeline',
    events: ['demo-pipeline-created'],
    unless: ({ demo }) => (demo === 'none' ? 'not requested' : undefined),
  },
  'run-demo': {
    title: 'Run the demo pipeline',
    events: ['demo-pipeline-executed'],
    unless: (choices) => (choices.demo === 'run' ? byHelm(choices) : 'not requested'),
  },
}

/** Titles of all steps, in order. */
export const STEP_TITLES = STEPS.map((name) => ({ name, title: RULES[name].title }))

/** Returns the steps in order, skipped ones with the reason. */
export function planInstallation(choices: Choices): PlannedStep[] {
  return STEPS.map((name) => {
    const { title, events, unless, dry, upToMs } = RULES[name]
    const skipped = choices.dryRun && dry !== true ? 'dry run' : unless(choices)
    const reported = events.filter(
      (event) => (event !== 'monitor-installed' || choices.monitor) && (event !== 'app-proxy-installed' || choices.appProxy),
    )
    return { name, title, events: reported, ...defined({ skipped, upToMs }) }
  })
}
