/** Commands for views of the list of builds. */
import { command, flag, oneOf } from '../../command.ts'

export const viewCommands = [
  command('get views', {
    summary: 'List your views of builds, and those that all users share',
    about:
      'A view is a set of filters with a name. Save views on the page with builds. `windlass get builds --view NAME` uses one.',
    options: {
      output: oneOf('-o, --output <format>', 'Output format (default: a table)', ['json', 'yaml']),
      noHeaders: flag('--no-headers', 'Omit the header of the table'),
    },
    examples: ['windlass get views', 'windlass get builds --view Failed'],
    run: async (invocation) => (await import('./action.ts')).listViews(invocation),
  }),
]
