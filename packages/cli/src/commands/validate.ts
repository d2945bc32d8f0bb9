/** Checking documents. */
import { command, flag, oneOf } from '../command.ts'

export const validateCommands = [
  command('validate', {
    summary: 'Check documents, without a server',
    about:
      'Pipelines, step types and everything that apply takes. All problems are told at once, each with its place. Exit code 1 when a document has errors; warnings alone are fine. 3 when a file is missing.',
    arguments: [{ name: '<file...>', summary: 'Documents; patterns in quotes are expanded; - reads standard input' }],
    options: {
      format: oneOf('--format <format>', 'How to print', ['human', 'message', 'printify', 'lint', 'json']),
      output: oneOf('-o, --output <format>', 'Like --format', ['json']),
      watch: flag('-w, --watch', 'Check again whenever a file is written, until Ctrl-C'),
    },
    examples: [
      'windlass validate pipeline.yml',
      "windlass validate 'examples/**/*.yml' --format lint",
      'windlass validate pipeline.yml --watch',
      'git show HEAD:codefresh.yml | windlass validate -',
    ],
    run: async (invocation) => (await import('../actions/validate.ts')).validateFiles(invocation),
  }),
]
