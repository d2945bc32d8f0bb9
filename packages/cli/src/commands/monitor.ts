/** What monitors report of clusters. */
import { MONITORED_KINDS } from '@windlass/protocol/monitored-kinds'
import { command, oneOf, text } from '../command.ts'

const output = oneOf('-o, --output <format>', 'How to print; a table when left out', ['json', 'yaml'])

export const monitorCommands = [
  command('get monitors', {
    summary: 'List the clusters that a monitor reports',
    options: { output },
    run: async (invocation) => (await import('../actions/monitor.ts')).getMonitors(invocation),
  }),
  command('get objects', {
    summary: 'List what runs in a cluster, as its monitor reports it',
    about: 'The monitor reads and never writes; environments, data and Secrets do not leave the cluster.',
    arguments: [{ name: '<kind>', summary: MONITORED_KINDS.join(', '), choices: MONITORED_KINDS }],
    options: {
      cluster: text('--cluster <name>', 'Which cluster; may be left out where one alone is reported'),
      namespace: text('-n, --namespace <namespace>', 'Only in this namespace'),
      output,
    },
    examples: ['windlass get objects Pod --namespace shop', 'windlass get objects HelmRelease --cluster prod'],
    run: async (invocation) => (await import('../actions/monitor.ts')).getObjects(invocation),
  }),
]
