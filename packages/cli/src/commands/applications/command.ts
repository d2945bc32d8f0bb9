/** Commands for applications of Argo CD. `get applications` lists them. */
import { command, oneOf } from '../../command.ts'

export const applicationCommands = [
  command('describe application', {
    summary: 'Show the details of an application of Argo CD: its states, resources, and why it is not healthy or not synced',
    about:
      'The reporter of the GitOps runtime reports applications, see `gitops report`. Resources that need attention come first.',
    arguments: [{ name: '<application>', summary: 'RUNTIME/NAMESPACE/NAME, or an id' }],
    options: { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) },
    examples: ['windlass describe application prod/argocd/shop'],
    run: async (invocation) => (await import('./describe.ts')).describeApplication(invocation),
  }),
]
