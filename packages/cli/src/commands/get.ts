/** Looking at what is there. */
import { command, flag, integer, oneOf, text, texts } from '../command.ts'
import { KIND_NAMES } from '../kind-names.ts'
import { OUTPUT_FORMATS } from '../output-formats.ts'

export const getCommands = [
  command('get', {
    summary: 'List things, or show one by its name',
    arguments: [
      { name: '<kind>', summary: `What to list: ${KIND_NAMES.join(', ')}`, choices: KIND_NAMES },
      { name: '[name]', summary: 'Only this one (builds: its id)' },
    ],
    options: {
      output: oneOf('-o, --output <format>', 'How to print; a table when left out', OUTPUT_FORMATS),
      noHeaders: flag('--no-headers', 'Leave out the head of the table'),
      limit: integer('--limit <count>', 'Most things to list; 20 builds, everything else in full when left out'),
      pipeline: text('--pipeline <name>', 'Builds: only of this pipeline'),
      status: text('--status <status>', 'Builds: only in this status'),
      branch: text('--branch <name>', 'Builds: only of this branch'),
      annotation: texts('-a, --annotation <name=value>', 'Builds: only those with this annotation; NAME alone takes any value'),
      versions: flag('--versions', 'Step types: all versions of the one that is named'),
    },
    examples: [
      'windlass get builds --pipeline demo/app',
      'windlass get pipelines -o name',
      'windlass get runtimes local -o yaml',
    ],
    run: async (invocation) => (await import('../actions/get.ts')).getThings(invocation),
  }),
  command('describe build', {
    summary: 'Show a build in full: its steps, attempts, and why it waits or failed',
    arguments: [{ name: '<build>', summary: 'Id of a build' }],
    options: { output: oneOf('-o, --output <format>', 'How to print; text when left out', ['json', 'yaml']) },
    run: async (invocation) => (await import('../actions/describe.ts')).describeBuild(invocation),
  }),
  command('delete', {
    summary: 'Delete one thing',
    arguments: [
      { name: '<kind>', summary: 'pipeline, project, context, runtime, agent, key or step-type', choices: KIND_NAMES },
      { name: '<name>', summary: 'Its name (keys: its id; step types: name:version)' },
    ],
    options: {},
    run: async (invocation) => (await import('../actions/get.ts')).deleteThing(invocation),
  }),
]
