/** What `runner init` would do, as data: the same choices give the same steps. Nothing here touches a cluster or a server. */
import type { INSTALLATION_EVENTS } from '@windlass/protocol'

/** The answers and flags that decide which steps there are. No secret is among them. */
export interface Choices {
  readonly skipTest: boolean
  readonly skipIntegration: boolean
  readonly inCluster: boolean
  readonly makeDefault: boolean
  readonly monitor: boolean
  /** Create the demo pipeline, and with `run` also run it. */
  readonly demo: 'run' | 'create' | 'none'
  /** Write values for Helm in place of installing. */
  readonly helmValuesFile: string | undefined
  /** Write manifests, and change nothing. */
  readonly dryRun: boolean
}

export const STEPS = [
  'test-cluster',
  'create-agent',
  'store-token',
  'create-runtime',
  'set-default',
  'add-cluster',
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
  /** Why the step is left out; absent when it is to be done. */
  readonly skipped?: string
  /** What the server is told when it ends, in this order. */
  readonly events: readonly (typeof INSTALLATION_EVENTS)[number][]
}

interface Rule {
  readonly title: string
  readonly events: PlannedStep['events']
  /** The reason to leave it out; undefined to do it. */
  readonly unless: (choices: Choices) => string | undefined
  /** Also part of a dry run. */
  readonly dry?: true
}

const byHelm = ({ helmValuesFile }: Choices): string | undefined =>
  helmValuesFile === undefined ? undefined : 'you install with Helm'

const RULES: Readonly<Record<StepName, Rule>> = {
  'test-cluster': {
    title: 'Test the cluster',
    events: ['acceptance-tests-ran'],
    unless: (choices) => (choices.skipTest ? '--skip-cluster-test' : byHelm(choices)),
  },
  'create-agent': { title: 'Register the agent', events: ['agent-created'], unless: () => undefined },
  'store-token': { title: "Store the agent's token in the cluster", events: [], unless: byHelm },
  'create-runtime': { title: 'Make the runtime environment', events: ['agent-updated'], unless: () => undefined },
  'set-default': {
    title: 'Make it the default',
    events: [],
    unless: ({ makeDefault }) => (makeDefault ? undefined : 'not asked for'),
  },
  'add-cluster': {
    title: 'Register the cluster for deployments',
    events: ['cluster-integration-added'],
    unless: ({ skipIntegration, inCluster }) =>
      skipIntegration ? '--skip-cluster-integration' : inCluster ? 'run from inside of the cluster' : undefined,
  },
  'install-runner': {
    title: 'Install agent, volumes and monitor',
    events: ['agent-installed', 'runtime-installed', 'monitor-installed', 'runner-installed'],
    unless: byHelm,
    dry: true,
  },
  'check-runner': { title: 'Wait for the agent', events: [], unless: byHelm },
  'write-helm-values': {
    title: 'Write values for Helm',
    events: [],
    unless: ({ helmValuesFile }) => (helmValuesFile === undefined ? 'not asked for' : undefined),
  },
  'create-demo': {
    title: 'Make the demo pipeline',
    events: ['demo-pipeline-created'],
    unless: ({ demo }) => (demo === 'none' ? 'not asked for' : undefined),
  },
  'run-demo': {
    title: 'Run the demo pipeline',
    events: ['demo-pipeline-executed'],
    unless: (choices) => (choices.demo === 'run' ? byHelm(choices) : 'not asked for'),
  },
}

/** The steps in their order, each with the reason if it is left out. */
export function planInstallation(choices: Choices): PlannedStep[] {
  return STEPS.map((name) => {
    const { title, events, unless, dry } = RULES[name]
    const skipped = choices.dryRun && dry !== true ? 'dry run' : unless(choices)
    const told = events.filter((event) => event !== 'monitor-installed' || choices.monitor)
    return { name, title, events: told, ...(skipped !== undefined && { skipped }) }
  })
}
