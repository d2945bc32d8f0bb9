/** Field tables of `kind: pipeline` documents. */
import { DEBUG } from './control-fields.ts'
import { any, flag, optionalText, record, strictFlag, text, word } from './shape.ts'
import type { Field, Fields, Shape } from './shape.ts'

const whole: Shape = { kind: 'number', least: 0, whole: true }

export const PIPELINE: Fields = {
  version: { shape: any, about: 'Always `1.0`.' },
  kind: { shape: word('pipeline'), required: true, about: 'Always `pipeline`.' },
  metadata: { shape: any, required: true, about: 'Name and labels.' },
  spec: { shape: any, required: true, about: 'Settings, and the steps or their location.' },
  last_executed: { shape: any, about: 'Read only.' },
}

export const METADATA: Fields = {
  name: { shape: text, required: true, about: '`project/pipeline`, or only a name.' },
  description: { shape: optionalText, about: 'Description.' },
  labels: { shape: { kind: 'map', of: any }, about: 'Labels; `tags` are for access control.' },
  project: { shape: text, about: 'Taken from the name.' },
}

/** Returns a field that the server reads from the stored pipeline. */
function kept(about: string): Field {
  return { shape: any, about }
}

/** Fields of `spec` in addition to the root keys of an inline document. */
export const SPEC: Fields = {
  specTemplate: {
    shape: record({
      location: { shape: word('url', 'git'), about: '`url` by default.' },
      url: { shape: text, about: 'URL of the raw file.' },
      repo: { shape: text, about: '`owner/name`.' },
      path: { shape: text, about: 'Path of the file in the repository.' },
      revision: { shape: optionalText, about: 'Revision of the file; the branch of the event by default.' },
      context: { shape: text, about: 'Git integration.' },
    }),
    about: 'Location of the steps if they are not in this document.',
  },
  variables: {
    shape: {
      kind: 'list',
      of: record({
        key: { shape: text, required: true, about: 'Name of the variable.' },
        value: { shape: any, about: 'Text, number or boolean; empty by default.' },
        encrypted: { shape: flag, about: 'True keeps the value encrypted and masks it in logs.' },
        description: { shape: optionalText, about: 'Description.' },
      }),
    },
    about: 'Variables of the pipeline.',
  },
  contexts: {
    shape: { kind: 'list', of: text },
    about: 'Shared configuration whose variables are used; later entries override earlier ones.',
  },
  runtimeEnvironment: {
    shape: record({
      name: { shape: text, about: 'Runtime environment; the default one if absent.' },
      cpu: { shape: optionalText, about: 'Such as `2000m`.' },
      memory: { shape: optionalText, about: 'Such as `4Gi`.' },
      dindStorage: { shape: optionalText, about: 'Such as `30Gi`.' },
      requiredAvailableStorage: { shape: optionalText, about: 'Minimum free space of the disk.' },
    }),
    about: 'Runtime environment and resources of the builds.',
  },
  concurrency: { shape: whole, about: 'Maximum number of concurrent builds; 0 freezes the pipeline; no limit by default.' },
  branchConcurrency: { shape: whole, about: 'Maximum number of concurrent builds of one branch.' },
  triggerConcurrency: { shape: whole, about: 'Maximum number of concurrent builds of one trigger.' },
  priority: { shape: { kind: 'number', whole: true }, about: '-100 to 100; builds with a higher priority start first.' },
  triggers: kept('Git triggers.'),
  cronTriggers: kept('Cron triggers.'),
  variablesSchema: kept('JSON Schema of user inputs.'),
  requiredAvailableStorage: kept('Minimum free space of the disk.'),
  lowMemoryWarningThreshold: kept('Threshold for warnings about low memory.'),
  packId: kept('Preset size.'),
  options: kept('Cache and notification switches.'),
  terminationPolicy: kept('Rules by which builds terminate other builds.'),
  externalResources: kept('Files from other repositories.'),
  permitRestartFromFailedSteps: kept('Allows restarts from a failed step.'),
  clustersInfo: kept('Clusters that steps can reach.'),
  startedBy: {
    shape: { kind: 'list', of: text },
    about: 'Pipelines of other projects whose steps may start this one: `project/name`, `project/*` or `*`.',
  },
  isPublic: {
    shape: strictFlag,
    about: 'True lets any person see the badge of the pipeline, and the status and logs of its builds; false by default.',
  },
  scopes: kept('Permissions of the token of steps.'),
  scopeSnapshot: kept('Read only.'),
  serviceAccount: kept('Service account for ECR.'),
  mainClone: {
    shape: record({
      automatic: {
        shape: strictFlag,
        about: 'True adds a step `main_clone` to steps without one; the setting of the account by default.',
      },
      repo: {
        shape: text,
        about: '`owner/name` or a URL, for builds without a trigger; the repository of `specTemplate` by default.',
      },
      git: { shape: text, about: 'Git integration; the default one if absent.' },
    }),
    about: 'The automatic clone, which repository pipelines of Codefresh have.',
  },
  debug: {
    shape: record({
      steps: { shape: { kind: 'map', of: record(DEBUG) }, about: 'Breakpoints by step.' },
    }),
    about: 'Breakpoints for debug runs.',
  },
}
