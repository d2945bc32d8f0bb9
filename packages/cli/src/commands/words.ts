/** What people say about builds: decisions and annotations; and the settings of the account. */
import { ANNOTATED_ENTITIES } from '@windlass/plan'
import { command, flag, oneOf, text, texts } from '../command.ts'

const decisionArguments = [
  { name: '<build>', summary: 'Id of a build' },
  { name: '[step]', summary: 'The step that waits; may be left out while one alone does' },
]
const decisionOptions = {
  comment: text('-m, --comment <text>', 'Why; shown with the decision'),
  follow: flag('-f, --follow', 'Follow the build to its end'),
}
const format = oneOf('-o, --output <format>', 'How to print; text when left out', ['json', 'yaml'])
const entityArguments = [
  { name: '<entity>', summary: ANNOTATED_ENTITIES.join(', '), choices: ANNOTATED_ENTITIES },
  { name: '<name>', summary: 'Its name or id' },
]

export const wordCommands = [
  command('approve', {
    summary: 'Approve what a step of a build waits for',
    about: 'The same decision again is harmless; another one is refused, because each approval is decided once.',
    arguments: decisionArguments,
    options: decisionOptions,
    examples: [
      'windlass approve 65f0c1d2a3b4c5d6e7f80912',
      'windlass approve 65f0c1d2a3b4c5d6e7f80912 release -m "tested by hand"',
    ],
    run: async (invocation) => (await import('../actions/decide.ts')).decideBuild(invocation, 'approve'),
  }),
  command('deny', {
    summary: 'Deny what a step of a build waits for',
    arguments: decisionArguments,
    options: decisionOptions,
    run: async (invocation) => (await import('../actions/decide.ts')).decideBuild(invocation, 'deny'),
  }),
  command('annotate', {
    summary: 'Set and remove annotations of a build, pipeline, project or image',
    about: 'NAME=VALUE sets one: true and false are booleans, digits are numbers, everything else is text. NAME- removes it.',
    arguments: [...entityArguments, { name: '<change...>', summary: 'NAME=VALUE, or NAME- to remove it' }],
    options: { display: text('--display <name>', 'The annotation that lists of builds show'), output: format },
    examples: [
      'windlass annotate build 65f0c1d2a3b4c5d6e7f80912 coverage=85 --display coverage',
      'windlass annotate pipeline demo/app owner-',
    ],
    run: async (invocation) => (await import('../actions/annotate.ts')).annotate(invocation),
  }),
  command('get annotations', {
    summary: 'Show the annotations of a build, pipeline, project or image',
    arguments: entityArguments,
    options: { output: format },
    run: async (invocation) => (await import('../actions/annotate.ts')).showAnnotations(invocation),
  }),
  command('get settings', {
    summary: 'Show the settings of the account',
    options: { output: format },
    run: async (invocation) => (await import('../actions/settings.ts')).showSettings(invocation),
  }),
  command('set settings', {
    summary: 'Change settings of the account',
    about: 'NAME=VALUE changes one and leaves the others; NAME- gives it its default again.',
    arguments: [{ name: '<change...>', summary: 'NAME=VALUE, or NAME- for its default' }],
    options: { output: format },
    examples: ['windlass set settings pauseBuilds=true', 'windlass set settings concurrency=20 keepPVCsForPendingApproval=true'],
    run: async (invocation) => (await import('../actions/settings.ts')).setSettings(invocation),
  }),
]

/** Options of `run` that are about the build beside its variables. */
export const buildOptions = {
  yaml: text('-y, --yaml <file>', 'Run the stored pipeline with the steps of this document; - reads standard input'),
  trigger: text('-t, --trigger <name>', 'Pretend to be started by this trigger of the pipeline'),
  annotation: texts('-a, --annotation <name=value>', 'Annotate the build; may be given many times'),
  noCfCache: flag('--no-cf-cache', 'Build images without the images of earlier builds as cache'),
  enableNotifications: flag('--enable-notifications', 'Tell the outside of this build as of one that a trigger started'),
  cpu: text('--cpu <quantity>', 'CPU of the Docker daemon that runs the steps, such as 2000m'),
  memory: text('--memory <quantity>', 'Memory of the Docker daemon, such as 4Gi'),
  disk: text('--disk <quantity>', 'Least size of its disk, such as 30Gi'),
}
