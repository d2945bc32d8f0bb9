/** Checking documents. */
import { command, oneOf } from '../command.ts'

export const validateCommands = [
  command('validate', {
    summary: 'Check pipeline documents, without a server',
    about: 'All problems are told at once. Exit code 1 when a document has errors; warnings alone are fine.',
    arguments: [{ name: '<file...>', summary: 'Documents; - reads standard input' }],
    options: { output: oneOf('-o, --output <format>', 'How to print', ['json']) },
    examples: ['windlass validate pipeline.yml', 'windlass validate examples/*/pipeline.yml -o json'],
    run: async (invocation) => (await import('../actions/validate.ts')).validateFiles(invocation),
  }),
]
