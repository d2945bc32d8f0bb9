/** Statistics of pipelines. */
import { command, oneOf, text } from '../../command.ts'

export const statsCommands = [
  command('get stats', {
    summary: 'Show statistics of a pipeline: durations, waits, steps, and what became slower or is flaky or oversized',
    arguments: [{ name: '<pipeline>', summary: 'Name or id of a pipeline' }],
    options: {
      since: text(
        '--since <time>',
        'Builds created at this time or later: a date, or a time ago such as 12h or 7d (default: 30d)',
      ),
      until: text('--until <time>', 'Builds created before this time'),
      branch: text('--branch <name>', 'Only builds of this branch'),
      output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']),
    },
    examples: ['windlass get stats demo/app', 'windlass get stats demo/app --since 7d --branch main -o json'],
    run: async (invocation) => (await import('./action.ts')).showStats(invocation),
  }),
]
