/** Finding out what is wrong. */
import { command, flag, oneOf, text } from '../command.ts'

export const doctorCommands = [
  command('doctor', {
    summary: 'Look for what keeps builds from running, and say what to do about it',
    about:
      'Checks the way to the server (name, proxy, certificate, clock, key), the cluster (version, nodes, rights, namespace, storage class), and, from a ' +
      'pod that it makes and removes, the way from the pod network to the server and what the Docker daemon needs of a node. Exit code 1 when something fails.',
    options: {
      only: oneOf('--only <part>', 'Look at this alone', ['server', 'cluster']),
      noPod: flag('--no-pod', 'Make no pod in the cluster'),
      runtime: text(
        '--runtime <name>',
        'Runtime environment whose images, class and node selector are used; the default one when left out',
      ),
      kubeContextName: text('--kube-context-name <context>', 'Context of the kubeconfig; the current one when left out'),
      kubeConfigPath: text('--kube-config-path <file>', 'Kubeconfig; KUBECONFIG or ~/.kube/config when left out'),
      kubeNamespace: text('--kube-namespace <namespace>', 'Namespace; that of the runtime when left out'),
      output: oneOf('-o, --output <format>', 'How to print; json is one finding a line', ['json']),
    },
    examples: ['windlass doctor', 'windlass doctor --only server', 'windlass doctor --runtime prod/windlass --no-pod'],
    run: async ({ options: { noPod, ...options }, ...rest }) =>
      (await import('../actions/doctor.ts')).runDoctor({ ...rest, options: { ...options, pod: !noPod } }),
  }),
]
