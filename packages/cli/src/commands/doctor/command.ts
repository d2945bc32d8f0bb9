/** The diagnosis command. */
import { command, flag, oneOf, text } from '../../command.ts'

export const doctorCommands = [
  command('doctor', {
    summary: 'Diagnose what keeps builds from running, with a hint for each problem',
    about:
      'Checks the connection to the server (name, proxy, certificate, clock, key), the cluster (version, nodes, permissions, namespace, storage class), and, from a ' +
      'temporary pod, the connection from the pod network to the server URL of engines, and what the Docker daemon needs of a node. The exit code is 1 if a check fails.',
    options: {
      only: oneOf('--only <part>', 'Check only this part', ['server', 'cluster']),
      agent: text(
        '--agent <name>',
        'Let this agent check its clusters from inside, and show its findings; checks nothing from here',
      ),
      report: flag('--report', 'Store the findings on the server, for the health of the runtime and its page'),
      noPod: flag('--no-pod', 'Do not create a pod in the cluster'),
      runtime: text(
        '--runtime <name>',
        'Runtime environment whose images, storage class and node selector are used (default: the default one of a cluster)',
      ),
      kubeContextName: text('--kube-context-name <context>', 'Context of the kubeconfig (default: the current one)'),
      kubeConfigPath: text('--kube-config-path <file>', 'Kubeconfig (default: KUBECONFIG or ~/.kube/config)'),
      kubeNamespace: text('--kube-namespace <namespace>', 'Namespace (default: that of the runtime)'),
      output: oneOf('-o, --output <format>', 'Output format; json prints one finding per line', ['json']),
    },
    examples: [
      'windlass doctor',
      'windlass doctor --only server',
      'windlass doctor --runtime prod/windlass --no-pod',
      'windlass doctor --agent cluster-1',
    ],
    run: async ({ options: { noPod, ...options }, ...rest }) =>
      (await import('./action.ts')).runDoctor({ ...rest, options: { ...options, pod: !noPod } }),
  }),
]
