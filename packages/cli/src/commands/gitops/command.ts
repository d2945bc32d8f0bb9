/** Commands for GitOps runtimes. `get tunnels` lists them. */
import { command, integer, oneOf, text } from '../../command.ts'

const runtime = [{ name: '<runtime>', summary: 'Name of the GitOps runtime' }]

export const gitopsCommands = [
  command('gitops token create', {
    summary: 'Create a token for the tunnel client, the app-proxy and the reporter of a GitOps runtime',
    about:
      'The first token of a name creates the runtime. The token is shown once. It allows to connect, to report applications, and to ask for the rights of callers together with their own token. To replace one, create a second, give it ' +
      'to the client, which uses it without a restart, and delete the first.',
    arguments: runtime,
    options: { output: oneOf('-o, --output <format>', 'Output format', ['json']) },
    examples: ['windlass gitops token create prod > token'],
    run: async (invocation) => (await import('./action.ts')).createToken(invocation),
  }),
  command('gitops token list', {
    summary: 'List the tokens of a GitOps runtime',
    arguments: runtime,
    options: { output: oneOf('-o, --output <format>', 'Output format (default: a table)', ['json', 'yaml']) },
    examples: ['windlass gitops token list prod'],
    run: async (invocation) => (await import('./action.ts')).listTokens(invocation),
  }),
  command('gitops token delete', {
    summary: 'Delete a token of a GitOps runtime, and end a connection that uses it',
    arguments: [...runtime, { name: '<token>', summary: 'Id of the token' }],
    options: {},
    examples: ['windlass gitops token delete prod 65f0c1d2a3b4c5d6e7f80912'],
    run: async (invocation) => (await import('./action.ts')).deleteToken(invocation),
  }),
  command('gitops status', {
    summary: 'Show what works and what is broken in a GitOps runtime, and what to do',
    about:
      'The app-proxy of the runtime checks its parts each 10 s: what is stored, the forge, Argo CD, the shared repository. The server adds when it last heard of the app-proxy, of the tunnel and of each reporter. A check of a part that is silent is unknown.',
    arguments: runtime,
    options: { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) },
    examples: ['windlass gitops status prod'],
    run: async (invocation) => (await import('./status.ts')).showStatus(invocation),
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
  command('gitops report', {
    summary:
      'Report the applications of Argo CD, the rollouts and the workflows of a cluster to the server, until the command is stopped',
    about:
      'Runs in the cluster of the runtime, watches these objects, and sends what changes; all that exist at the start, after gaps and each ten minutes. It only reads and needs the role of ' +
      'packages/reporter/rbac. Several reporters can divide the objects. Each option can also be a variable WINDLASS_REPORTER_*, see the configuration.',
    options: {
      serverUrl: text('--server-url <url>', 'Base URL of the server (default: $WINDLASS_REPORTER_SERVER_URL)'),
      tokenFile: text(
        '--token-file <file>',
        'File with a token of `gitops token create` (default: $WINDLASS_REPORTER_TOKEN_PATH)',
      ),
      namespaces: text(
        '--namespaces <names>',
        'Namespaces of applications, separated by commas (default: $WINDLASS_REPORTER_NAMESPACES, or all)',
      ),
      objectNamespaces: text(
        '--object-namespaces <names>',
        'Namespaces of rollouts and workflows, separated by commas (default: $WINDLASS_REPORTER_OBJECT_NAMESPACES, or those of applications)',
      ),
      shards: integer('--shards <count>', 'Number of reporters (default: $WINDLASS_REPORTER_SHARDS, 1)'),
      shard: integer(
        '--shard <number>',
        'The part of this one, from 0 (default: $WINDLASS_REPORTER_SHARD, or the number at the end of the host name)',
      ),
      kubeconfig: text(
        '--kubeconfig <file>',
        'Kubeconfig (default: $WINDLASS_REPORTER_KUBECONFIG, or the service account of the pod)',
      ),
      port: integer('--port <port>', 'Port for /livez, /readyz and /metrics (default: $WINDLASS_REPORTER_PORT, or none)'),
    },
    examples: ['windlass gitops report --server-url https://ci.example.com --token-file token --namespaces argocd'],
    run: async (invocation) => (await import('./report.ts')).runReporter(invocation),
  }),
]
