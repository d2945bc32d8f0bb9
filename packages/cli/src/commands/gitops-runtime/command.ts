/** Commands that install a GitOps runtime into a cluster, and remove it. */
import { command, flag, grouped, text, texts, withAliases } from '../../command.ts'
import { kubeOptions } from '../runner/options.ts'

const runtime = [{ name: '<runtime>', summary: 'Name of the GitOps runtime' }]

const helmOptions = grouped('Helm', {
  helm: text('--helm <file>', 'Helm executable (default: WINDLASS_HELM, or helm on the PATH)'),
  chart: text(
    '--chart <chart>',
    'The chart windlass-gitops-runtime: a folder, an archive or an oci:// URL (default: WINDLASS_GITOPS_CHART, or the one of this program)',
  ),
})
const valueOptions = grouped('Values', {
  values: text('--values <file>', 'File with values of the chart'),
  setValue: withAliases(
    texts('--set-value <name=value>', 'Set a value of the chart, such as networkPolicy.enabled=false; repeatable'),
    '--set',
  ),
  ingressHost: text('--ingress-host <host>', 'Make the runtime reachable by an Ingress with this host instead of a tunnel'),
  ingressClass: text('--ingress-class <name>', 'Class of the Ingress (default: nginx)'),
})

export const gitopsRuntimeCommands = [
  command('gitops install', {
    summary: 'Install a GitOps runtime into a cluster, with a tunnel or an Ingress',
    about:
      'Checks the server, the cluster and the values, registers the runtime, and installs the chart windlass-gitops-runtime with Helm. Its token is in the Secret ' +
      'codefresh-token, and no API key is in the cluster. The command can be repeated: a valid token is kept. A Secret of another installation is refused, and not sent to the server.',
    arguments: runtime,
    options: {
      ...kubeOptions,
      ...valueOptions,
      hosted: flag(
        '--hosted',
        'For operators of the server: the runtime is in the cluster of the server, and deploys to managed clusters only',
      ),
      recover: flag(
        '--recover',
        'Take over an existing runtime of this name that is offline, and replace a Secret codefresh-token of another installation; a copy of it stays',
      ),
      ...helmOptions,
    },
    examples: [
      'windlass gitops install prod',
      'windlass gitops install prod --kube-context-name prod --kube-namespace gitops --ingress-host gitops.example.com',
      'windlass gitops install prod --values values.yaml --set-value app-proxy.replicaCount=2',
      'windlass gitops install hosted --hosted --kube-namespace acme --values hosted.yaml',
    ],
    run: async (invocation) => (await import('./install.ts')).installRuntime(invocation),
  }),
  command('gitops upgrade', {
    summary: 'Upgrade a GitOps runtime to the version of this program',
    about:
      'The token and the values of the release are kept. `helm rollback windlass-gitops-runtime` returns to the version before.',
    arguments: runtime,
    options: { ...kubeOptions, ...valueOptions, ...helmOptions },
    examples: ['windlass gitops upgrade prod', 'windlass gitops upgrade prod --set-value app-proxy.config.logLevel=debug'],
    run: async (invocation) => (await import('./install.ts')).upgradeRuntime(invocation),
  }),
  command('gitops uninstall', {
    summary: 'Remove a GitOps runtime from the server, and then from its cluster',
    about:
      'Lists what is removed, and asks for confirmation. The namespace, Argo CD, the applications of users, what Argo CD has applied and the Secrets of managed clusters are kept. The files in the shared configuration ' +
      'repository are kept too, unless --clean-repository removes them: with them the runtime can be installed again. Repeat the command after a failure. With --platform-only the cluster is not changed: use it for ' +
      'a cluster that does not exist any more.',
    arguments: runtime,
    options: {
      ...kubeOptions,
      yes: flag('-y, --yes', 'Do not ask for confirmation'),
      cleanRepository: flag(
        '--clean-repository',
        'Remove the files of the runtime from the shared configuration repository first',
      ),
      runtimeUrl: text(
        '--runtime-url <url>',
        'URL of the runtime, for --clean-repository (default: that of its ingress or tunnel)',
      ),
      platformOnly: flag('--platform-only', 'Remove the runtime from the server only; it must be offline'),
      force: flag('--force', 'Continue without the server, and with --platform-only remove a runtime that is connected'),
      ...helmOptions,
    },
    examples: [
      'windlass gitops uninstall prod --yes',
      'windlass gitops uninstall prod --clean-repository',
      'windlass gitops uninstall prod --platform-only',
    ],
    run: async (invocation) => (await import('./uninstall.ts')).uninstallRuntime(invocation),
  }),
  command('gitops validate-values', {
    summary: 'Check values of the chart windlass-gitops-runtime before an installation with Helm',
    about:
      'Renders the chart, and checks the API key of the values, the name of the runtime and the host of its Ingress. Changes nothing. The exit code is 1 if a check fails. ' +
      'The checks of the chart itself run in the cluster, before each installation.',
    options: { ...kubeOptions, ...valueOptions, ...helmOptions },
    examples: ['windlass gitops validate-values --values values.yaml'],
    run: async (invocation) => (await import('./validate-values.ts')).validateValues(invocation),
  }),
]
