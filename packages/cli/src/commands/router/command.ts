/** The command that is the router of a GitOps runtime. */
import { command, integer, text } from '../../command.ts'

export const routerCommands = [
  command('router run', {
    summary: 'Pass the calls of a GitOps runtime to its services, until the command is stopped',
    about:
      'Runs in the cluster of the runtime, behind the tunnel client or an ingress controller. /app-proxy goes to the app-proxy, /workflows/ to the Argo server without this ' +
      'prefix, and /webhooks/NAMESPACE/NAME to the event source. Other paths are not found. SIGTERM ends the calls in progress first. Each option can also be a variable ' +
      'WINDLASS_ROUTER_*, and further settings only such variables, see the configuration.',
    options: {
      port: integer('--port <port>', 'Port to listen on (default: $WINDLASS_ROUTER_PORT, 8080)'),
      metricsPort: integer(
        '--metrics-port <port>',
        'Port for /metrics, /healthz and /readyz (default: $WINDLASS_ROUTER_METRICS_PORT, or none)',
      ),
      appProxyUrl: text(
        '--app-proxy-url <url>',
        'Address of the app-proxy (default: $WINDLASS_ROUTER_APP_PROXY_URL, http://cap-app-proxy:3017)',
      ),
      workflowsUrl: text(
        '--workflows-url <url>',
        'Address of the Argo server (default: $WINDLASS_ROUTER_WORKFLOWS_URL, or not enabled)',
      ),
      webhookNamespaces: text(
        '--webhook-namespaces <names>',
        'Namespaces whose event sources get webhooks, separated by commas (default: $WINDLASS_ROUTER_WEBHOOK_NAMESPACES, or all)',
      ),
      trustedProxies: text(
        '--trusted-proxies <networks>',
        'Networks of ingress controller and tunnel client, separated by commas (default: $WINDLASS_ROUTER_TRUSTED_PROXIES, or none)',
      ),
    },
    examples: [
      'windlass router run --workflows-url http://argo-server:2746 --webhook-namespaces runtime --trusted-proxies 10.1.0.0/16',
      'windlass router run --port 8080 --app-proxy-url http://127.0.0.1:3017',
    ],
    run: async (invocation) => (await import('./run.ts')).runRouter(invocation),
  }),
]
