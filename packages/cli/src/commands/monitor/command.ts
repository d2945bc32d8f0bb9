/** Commands that show what monitors report about clusters. */
import { MONITORED_KINDS } from '@windlass/protocol/monitored-kinds'
import { command, oneOf, text } from '../../command.ts'

const output = oneOf('-o, --output <format>', 'Output format (default: a table)', ['json', 'yaml'])

export const monitorCommands = [
  command('get monitors', {
    summary: 'List the clusters with a monitor',
    options: { output },
    run: async (invocation) => (await import('./action.ts')).getMonitors(invocation),
  }),
  command('get objects', {
    summary: 'List the objects in a cluster, as reported by its monitor',
    about: 'The monitor only reads. Environment variables, data and Secrets do not leave the cluster.',
    arguments: [{ name: '<kind>', summary: 'Kind of the objects', choices: MONITORED_KINDS }],
    options: {
      cluster: text('--cluster <name>', 'Name of the cluster; optional if only one has a monitor'),
      namespace: text('-n, --namespace <namespace>', 'Filter by namespace'),
      output,
    },
    examples: ['windlass get objects Pod --namespace shop', 'windlass get objects HelmRelease --cluster prod'],
    run: async (invocation) => (await import('./action.ts')).getObjects(invocation),
  }),
]
