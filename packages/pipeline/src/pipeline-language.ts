/** The fields of `kind: pipeline` documents, as tables. */
import { DEBUG } from './control-fields.ts'
import { any, flag, optionalText, record, text, word } from './shape.ts'
import type { Field, Fields, Shape } from './shape.ts'

const whole: Shape = { kind: 'number', least: 0, whole: true }

export const PIPELINE: Fields = {
  version: { shape: any, about: 'Always `1.0`.' },
  kind: { shape: word('pipeline'), required: true, about: 'Always `pipeline`.' },
  metadata: { shape: any, required: true, about: 'Name and labels.' },
  spec: { shape: any, required: true, about: 'Settings, and the steps or where they are.' },
  last_executed: { shape: any, about: 'Read only.' },
}

export const METADATA: Fields = {
  name: { shape: text, required: true, about: '`project/pipeline`, or a name alone.' },
  description: { shape: optionalText, about: 'For readers.' },
  labels: { shape: { kind: 'map', of: any }, about: 'Labels; `tags` are for access control.' },
  project: { shape: text, about: 'Taken from the name.' },
}

/** Kept with the pipeline; this version does not act on it. */
function kept(about: string): Field {
  return { shape: any, about }
}

/** `spec` beside the root keys of an inline document. */
export const SPEC: Fields = {
  specTemplate: {
    shape: record({
      location: { shape: word('url', 'git'), about: '`url` by default.' },
      url: { shape: text, about: 'A raw, readable file.' },
      repo: { shape: text, about: '`owner/name`.' },
      path: { shape: text, about: 'The file in the repository.' },
      revision: { shape: optionalText, about: 'Pins the file; the branch of the event by default.' },
      context: { shape: text, about: 'The git integration.' },
    }),
    about: 'Where the steps are, when they are not here.',
  },
  variables: {
    shape: {
      kind: 'list',
      of: record({
        key: { shape: text, required: true, about: 'Name of the variable.' },
        value: { shape: any, about: 'Text, number or boolean; empty by default.' },
        encrypted: { shape: flag, about: 'True keeps the value encrypted and masks it in logs.' },
        description: { shape: optionalText, about: 'For readers.' },
      }),
    },
    about: 'Variables of the pipeline.',
  },
  contexts: { shape: { kind: 'list', of: text }, about: 'Shared configuration to take variables from; a later one wins.' },
  runtimeEnvironment: {
    shape: record({
      name: { shape: text, about: 'The runtime environment; the default one by default.' },
      cpu: { shape: optionalText, about: 'Such as `2000m`.' },
      memory: { shape: optionalText, about: 'Such as `4Gi`.' },
      dindStorage: { shape: optionalText, about: 'Such as `30Gi`.' },
      requiredAvailableStorage: { shape: optionalText, about: 'Least free space of the disk.' },
    }),
    about: 'Where builds run and what they ask for.',
  },
  concurrency: { shape: whole, about: 'Most builds at once; 0 freezes the pipeline; no limit by default.' },
  branchConcurrency: { shape: whole, about: 'Most builds of one branch at once.' },
  triggerConcurrency: { shape: whole, about: 'Most builds of one trigger at once.' },
  priority: { shape: { kind: 'number', whole: true }, about: '-100 to 100; the higher goes first.' },
  triggers: kept('Git triggers.'),
  cronTriggers: kept('Timed triggers.'),
  variablesSchema: kept('JSON Schema of user inputs.'),
  requiredAvailableStorage: kept('Least free space of the disk.'),
  lowMemoryWarningThreshold: kept('When to warn of little memory.'),
  packId: kept('Preset size.'),
  options: kept('Cache and notification switches.'),
  terminationPolicy: kept('Which builds end others.'),
  externalResources: kept('Files from other repositories.'),
  permitRestartFromFailedSteps: kept('Whether restarts may begin at a failed step.'),
  clustersInfo: kept('Which clusters steps can reach.'),
  scopes: kept('What the token of steps may do.'),
  scopeSnapshot: kept('Read only.'),
  serviceAccount: kept('Service account for ECR.'),
  debug: {
    shape: record({
      steps: { shape: { kind: 'map', of: record(DEBUG) }, about: 'Step -> its breakpoints.' },
    }),
    about: 'Breakpoints; they have no effect but in debug runs.',
  },
}
