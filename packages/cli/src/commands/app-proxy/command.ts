/** The command that is the app-proxy of a GitOps runtime. */
import { command, integer, text } from '../../command.ts'

export const appProxyCommands = [
  command('app-proxy run', {
    summary: 'Serve the users of a GitOps runtime or a Runner: their repositories and commits, until the command is stopped',
    about:
      'Runs in the cluster of the runtime, behind its router or an ingress controller, and asks the server for the rights of each caller. It needs the role of packages/app-proxy/rbac and git. ' +
      'Each option, and more settings, can also be a variable WINDLASS_APP_PROXY_*, see the configuration. SIGTERM ends the calls in progress first.',
    options: {
      serverUrl: text('--server-url <url>', 'Base URL of the server (default: $WINDLASS_APP_PROXY_SERVER_URL)'),
      runtime: text('--runtime <name>', 'Name of the GitOps runtime (default: $WINDLASS_APP_PROXY_RUNTIME)'),
      accountId: text('--account-id <id>', 'Id of the account of the runtime (default: $WINDLASS_APP_PROXY_ACCOUNT_ID)'),
      tokenFile: text(
        '--token-file <file>',
        'File with a token of `gitops token create` (default: $WINDLASS_APP_PROXY_TOKEN_PATH)',
      ),
      kubeconfig: text(
        '--kubeconfig <file>',
        'Kubeconfig (default: $WINDLASS_APP_PROXY_KUBECONFIG, or the service account of the pod)',
      ),
      port: integer('--port <port>', 'Port to listen on (default: $WINDLASS_APP_PROXY_PORT, 8080)'),
    },
    examples: [
      'windlass app-proxy run --server-url https://ci.example.com --runtime prod --account-id 65f0c1d2a3b4c5d6e7f80912 --token-file token',
    ],
    run: async (invocation) => (await import('./run.ts')).runAppProxy(invocation),
  }),
]
