/** The tunnel client of a GitOps runtime, and a check of its way to the server. */
import { command, integer, oneOf, text } from '../../command.ts'

const clientOptions = {
  serverUrl: text('--server-url <url>', 'Base URL of the server of the tunnel (default: $WINDLASS_TUNNEL_SERVER_URL)'),
  runtime: text('--runtime <name>', 'Name of the GitOps runtime (default: $WINDLASS_TUNNEL_RUNTIME)'),
  tokenFile: text('--token-file <file>', 'File with a token of `gitops token create` (default: $WINDLASS_TUNNEL_TOKEN_PATH)'),
  caFile: text('--ca-file <file>', "PEM file of the server's certificate authority (default: $WINDLASS_TUNNEL_CA_PATH)"),
}

export const tunnelCommands = [
  command('tunnel run', {
    summary: 'Make the router of a GitOps runtime reachable through a server, until the command is stopped',
    about:
      'Connects to the server by HTTPS, and through the proxy of HTTPS_PROXY unless NO_PROXY names the server. Calls go to the router only, and only below ' +
      '/app-proxy, /workflows and /webhooks (WINDLASS_TUNNEL_PREFIXES). A lost connection is made again after 1 s to 60 s. A changed token is used without a restart. ' +
      'SIGTERM ends the calls in progress first. Each option can also be a variable WINDLASS_TUNNEL_*, see the configuration.',
    options: {
      ...clientOptions,
      routerUrl: text(
        '--router-url <url>',
        'Address of the router (default: $WINDLASS_TUNNEL_ROUTER_URL, http://internal-router)',
      ),
      port: integer('--port <port>', 'Port for /livez, /readyz and /metrics (default: $WINDLASS_TUNNEL_PORT, or none)'),
    },
    examples: [
      'windlass tunnel run --server-url https://register.tunnels.example.com --runtime prod --token-file token',
      'windlass tunnel run --server-url https://register.tunnels.example.com --runtime dev --token-file token --router-url http://127.0.0.1:8080',
    ],
    run: async (invocation) => (await import('./run.ts')).runTunnel(invocation),
  }),
  command('tunnel check', {
    summary: 'Check whether the tunnel of a GitOps runtime can work from here, without connecting it',
    about:
      'Checks the proxy, the name, the certificate, the WebSocket, the token and whether another client is connected, in the order in which a client meets them, and says what to do about the first failure. ' +
      'Run it where the client runs: `kubectl exec deploy/codefresh-tunnel-client -c tunnel-client -- windlass tunnel check`. The client that is connected keeps its calls. ' +
      'The exit code is 0, 4 for a token that is refused, 5 if the server is not reached, and 1 for other failures.',
    options: {
      ...clientOptions,
      output: oneOf('-o, --output <format>', 'Output format; json prints one finding per line', ['json']),
    },
    examples: [
      'windlass tunnel check',
      'windlass tunnel check --server-url https://register.tunnels.example.com --runtime prod --token-file token',
    ],
    run: async (invocation) => (await import('./check.ts')).runTunnelCheck(invocation),
  }),
]
