/** Commands for products and their releases. `get products` and `get releases` list them. */
import { command, flag, integer, oneOf, text } from '../../command.ts'

const output = oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml'])
const release = [{ name: '<release>', summary: 'Id of a release' }]
const waiting = {
  wait: flag('--wait', 'Wait until the release has ended; exit with 1 if it fails and with 2 if it is terminated'),
  timeout: integer('--timeout <minutes>', 'With --wait: stop waiting after this time; the release goes on (default: 60)'),
}

export const releaseCommands = [
  command('describe product', {
    summary: 'Show which version of a product is where, with its applications in each environment',
    arguments: [{ name: '<product>', summary: 'Name of the product' }],
    options: { output },
    examples: ['windlass describe product shop'],
    run: async (invocation) => (await import('./describe.ts')).describeProduct(invocation),
  }),
  command('describe release', {
    summary: 'Show the steps of a release of a product, and why it waits or has failed',
    arguments: release,
    options: { output },
    examples: ['windlass describe release 65f0c1d2a3b4c5d6e7f80912'],
    run: async (invocation) => (await import('./describe.ts')).describeRelease(invocation),
  }),
  command('gitops promote', {
    summary: 'Start a release of a product: promote its applications by a flow, or from one environment to another',
    about:
      'The applications in the environment from which is promoted must be healthy and synced. The app-proxy of the runtime of each application changes its repository, by a commit or a pull request as the policies say. The next ' +
      'environment follows when the applications are synced and healthy.',
    arguments: [{ name: '<product>', summary: 'Name of the product' }],
    options: {
      flow: text('--flow <name>', 'Promotion flow of the product (default: its first one)'),
      from: text('--from <environment>', 'Without a flow: environment from which is promoted'),
      to: text('--to <environment>', 'Without a flow: environment to which is promoted'),
      ...waiting,
    },
    examples: ['windlass gitops promote shop', 'windlass gitops promote shop --from staging --to production --wait'],
    run: async (invocation) => (await import('./action.ts')).promote(invocation),
  }),
  command('gitops release terminate', {
    summary: 'Terminate a release; its commits stay, and its pull requests stay open',
    arguments: release,
    options: {},
    examples: ['windlass gitops release terminate 65f0c1d2a3b4c5d6e7f80912'],
    run: async (invocation) => (await import('./action.ts')).terminateRelease(invocation),
  }),
  command('gitops release retry', {
    summary: 'Try the promotions of a release again that have failed or were terminated',
    arguments: release,
    options: waiting,
    examples: ['windlass gitops release retry 65f0c1d2a3b4c5d6e7f80912 --wait'],
    run: async (invocation) => (await import('./action.ts')).retryRelease(invocation),
  }),
]
