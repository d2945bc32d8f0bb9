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
  command('get system', {
    summary: 'Show the state of the server: servers, versions, sizes, retention, load, and when the disk will be full',
    options: { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) },
    examples: ['windlass get system', 'windlass get system -o json'],
    run: async (invocation) => (await import('./system.ts')).showSystem(invocation),
  }),
  command('get activity', {
    summary: 'Show the builds and warm pairs of a runtime, and its load in the last 24 hours',
    arguments: [{ name: '<runtime>', summary: 'Name of a runtime environment' }],
    options: { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) },
    examples: ['windlass get activity prod/builds'],
    run: async (invocation) => (await import('./activity.ts')).showActivity(invocation),
  }),
]
