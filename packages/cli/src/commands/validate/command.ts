/** The `validate` command. */
import { command, flag, oneOf, text } from '../../command.ts'

export const validateCommands = [
  command('validate', {
    summary: 'Validate documents without a server',
    about:
      'Validates pipelines, step types and all documents of `apply`. Reports all problems with their positions. The exit code is 1 if a document has errors (warnings do not count), and 3 if a file is missing.',
    arguments: [{ name: '<file...>', summary: 'Documents; patterns in quotes are expanded; - reads standard input' }],
    options: {
      format: oneOf('--format <format>', 'Output format', ['human', 'message', 'printify', 'lint', 'json']),
      output: oneOf('-o, --output <format>', 'Like --format', ['json']),
      stepTypes: text(
        '--step-types <folder>',
        'Folder with manifests of step types (default: .windlass/steps next to each document); other types are not checked',
      ),
      watch: flag('-w, --watch', 'Validate again when a file changes, until Ctrl-C'),
    },
    examples: [
      'windlass validate pipeline.yml',
      "windlass validate 'examples/**/*.yml' --format lint",
      'windlass validate pipeline.yml --watch',
      'git show HEAD:codefresh.yml | windlass validate -',
    ],
    run: async (invocation) => (await import('./action.ts')).validateFiles(invocation),
  }),
]
