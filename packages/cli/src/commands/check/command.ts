/** Checks of resources by agents. */
import { command, oneOf, text } from '../../command.ts'

export const checkCommands = [
  command('check context', {
    summary: 'Let the agent of a runtime check where a context leads, and whether its login is accepted there',
    about:
      'The agent calls the forge, registry, cluster or secret store of the context with its credentials, from where builds run, and changes nothing. A Secret or ' +
      'ConfigMap of the cluster must exist and have the keys that stored pipelines name. The exit code is 1 if the context cannot be used. Contexts that hold ' +
      'variables lead to nothing that could be checked (`context-not-checkable`).',
    arguments: [{ name: '<name>', summary: 'Name of a context' }],
    options: {
      runtime: text(
        '--runtime <name>',
        'Runtime environment whose agent checks (default: the one that the context is for, otherwise the default one)',
      ),
      output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']),
    },
    examples: ['windlass check context github', 'windlass check context registry --runtime prod/builds -o json'],
    run: async (invocation) => (await import('./action.ts')).runCheckContext(invocation),
  }),
]
