/** The command that is the tunnel client of a GitOps runtime. */
import { command, integer, text } from '../../command.ts'

export const tunnelCommands = [
  command('tunnel run', {
    summary: 'Make the router of a GitOps runtime reachable through a server, until the command is stopped',
    about:
      'Connects to the server by HTTPS, and through the proxy of HTTPS_PROXY unless NO_PROXY names the server. Calls go to the router only, and only below ' +
      '/app-proxy, /workflows and /webhooks (WINDLASS_TUNNEL_PREFIXES). A lost connection is made again after 1 s to 60 s. A changed token is used without a restart. ' +
      'SIGTERM ends the calls in progress first. Each option can also be a variable WINDLASS_TUNNEL_*, see the configuration.',
    options: {
      serverUrl: text('--server-url <url>', 'Base URL of the server of the tunnel (default: $WINDLASS_TUNNEL_SERVER_URL)'),
      runtime: text('--runtime <name>', 'Name of the GitOps runtime (default: $WINDLASS_TUNNEL_RUNTIME)'),
      tokenFile: text(
        '--token-file <file>',
        'File with a token of `gitops tokens create` (default: $WINDLASS_TUNNEL_TOKEN_PATH)',
      ),
      routerUrl: text(
        '--router-url <url>',
        'Address of the router (default: $WINDLASS_TUNNEL_ROUTER_URL, http://internal-router)',
      ),
      caFile: text('--ca-file <file>', "PEM file of the server's certificate authority (default: $WINDLASS_TUNNEL_CA_PATH)"),
      port: integer('--port <port>', 'Port for /livez, /readyz and /metrics (default: $WINDLASS_TUNNEL_PORT, or none)'),
    },
    examples: [
      'windlass tunnel run --server-url https://register.tunnels.example.com --runtime prod --token-file token',
      'windlass tunnel run --server-url https://register.tunnels.example.com --runtime dev --token-file token --router-url http://127.0.0.1:8080',
    ],
    run: async (invocation) => (await import('./run.ts')).runTunnel(invocation),
  }),
]
