/** Commands for the versions of pipelines, named as those of runtime environments. */
import { command, flag, integer, oneOf } from '../../command.ts'

const pipeline = { name: '<pipeline>', summary: 'Name of a pipeline' }

export const pipelineVersionCommands = [
  command('diff pipelines', {
    summary: 'Compare two versions of a pipeline: the document as a patch, and the settings',
    about:
      'The exit code is 1 if the versions differ. Values of encrypted variables are not kept; the versions tell when they were set.',
    arguments: [pipeline],
    options: {
      firstVersion: integer('--first-version <number>', 'First version (default: the one before the second)'),
      secondVersion: integer('--second-version <number>', 'Second version (default: the current one)'),
      output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']),
    },
    examples: ['windlass diff pipelines demo/app', 'windlass diff pipelines demo/app --first-version 3 --second-version 7'],
    run: async (invocation) => (await import('./action.ts')).diffPipelines(invocation),
  }),
  command('restore pipelines', {
    summary: 'Write a version of a pipeline again, as a new version',
    about:
      'The document, the settings and the name become those of the version. Encrypted variables keep the values that they have now. ' +
      'List the versions with `windlass get pipelines NAME --history`.',
    arguments: [pipeline],
    options: {
      version: integer('--version <number>', 'Version to restore'),
      force: flag('--force', 'Restore it even if the pipeline is changed at the same time'),
    },
    examples: ['windlass restore pipelines demo/app --version 3'],
    run: async (invocation) => (await import('./action.ts')).restorePipeline(invocation),
  }),
]
