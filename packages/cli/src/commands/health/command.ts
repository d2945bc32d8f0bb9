/** The health of the server and of runtime environments. */
import { command, oneOf } from '../../command.ts'

export const healthCommands = [
  command('get health', {
    summary: 'Show the health of the server and its runtimes, or of one runtime, with a hint for each problem',
    about: 'The exit code is 1 if builds cannot run.',
    arguments: [{ name: '[runtime]', summary: 'Name of a runtime environment' }],
    options: { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) },
    examples: ['windlass get health', 'windlass get health prod/builds -o json'],
    run: async (invocation) => (await import('./action.ts')).showHealth(invocation),
  }),
]
