/** Commands for GitOps runtimes. `get tunnels` lists them. */
import { command, oneOf } from '../../command.ts'

const runtime = [{ name: '<runtime>', summary: 'Name of the GitOps runtime' }]

export const gitopsCommands = [
  command('gitops tokens create', {
    summary: 'Create a token with which the tunnel client of a GitOps runtime connects',
    about:
      'The first token of a name creates the runtime. The token is shown once. It allows to connect, and to ask for the rights of callers together with their own token. To replace one, create a second, give it ' +
      'to the client, which uses it without a restart, and delete the first.',
    arguments: runtime,
    options: { output: oneOf('-o, --output <format>', 'Output format', ['json']) },
    examples: ['windlass gitops tokens create prod > token'],
    run: async (invocation) => (await import('./action.ts')).createToken(invocation),
  }),
  command('gitops tokens list', {
    summary: 'List the tokens of a GitOps runtime',
    arguments: runtime,
    options: { output: oneOf('-o, --output <format>', 'Output format (default: a table)', ['json', 'yaml']) },
    examples: ['windlass gitops tokens list prod'],
    run: async (invocation) => (await import('./action.ts')).listTokens(invocation),
  }),
  command('gitops tokens delete', {
    summary: 'Delete a token of a GitOps runtime, and end a connection that uses it',
    arguments: [...runtime, { name: '<token>', summary: 'Id of the token' }],
    options: {},
    examples: ['windlass gitops tokens delete prod 65f0c1d2a3b4c5d6e7f80912'],
    run: async (invocation) => (await import('./action.ts')).deleteToken(invocation),
  }),
  command('gitops disconnect', {
    summary: 'End the connection of a GitOps runtime; its client connects again a minute later',
    arguments: runtime,
    options: {},
    examples: ['windlass gitops disconnect prod'],
    run: async (invocation) => (await import('./action.ts')).disconnect(invocation),
  }),
  command('gitops delete', {
    summary: 'Delete a GitOps runtime with its tokens, and end its connection',
    about: 'Nothing in the cluster changes. The name is free afterwards.',
    arguments: runtime,
    options: {},
    examples: ['windlass gitops delete prod'],
    run: async (invocation) => (await import('./action.ts')).deleteRuntime(invocation),
  }),
]
