/** The commands of the old installer (runner specification 6.8), also when this program is called `venona` or `venonactl`. */
import { command, flag, oneOf, text, texts, yesNo } from '../command.ts'
import { dryRun, helmOptions, inCluster, setOptions } from './runner-options.ts'

const globals = {
  apiHost: text('--api-host <url>', 'Base URL of the server'),
  apiToken: text('--api-token <key>', 'API key; CODEFRESH_API_TOKEN keeps it off the command line'),
  context: text('--context <name>', 'Context of the file of contexts'),
  kubeConfigPath: text('--kube-config-path <file>', 'Kubeconfig'),
  skipVersionCheck: flag('--skip-version-check', 'Accepted'),
}
const kubeContextName = text('--kube-context-name <name>', 'Context of the kubeconfig')

export const venonaCommands = [
  command('venona install', {
    summary: 'Install a Runner, as the old installer was told to',
    options: {
      ...globals,
      ...setOptions,
      ...helmOptions,
      ...inCluster,
      clusterName: text('--cluster-name <name>', 'Name of the runtime; at most 20 characters'),
      venonaVersion: text('--venona-version <version>', 'Accepted: the version is that of this program'),
      runtimeEnvironment: text('--runtime-environment <name>', 'A runtime environment that exists'),
      kubeNamespace: text('--kube-namespace <name>', 'Namespace'),
      kubeContextName,
      storageClass: text('--storage-class <name>', 'Use this storage class'),
      kubeNodeSelector: text('--kube-node-selector <labels>', 'Nodes of the agent and the volume provisioner'),
      buildNodeSelector: text('--build-node-selector <labels>', 'Nodes of builds'),
      buildAnnotations: texts('--build-annotations <name=value>', 'Annotation of the pods of builds'),
      skipRuntimeInstallation: yesNo('--skip-runtime-installation', 'Install the agent alone; needs --runtime-environment'),
      onlyRuntimeEnvironment: yesNo('--only-runtime-environment', 'Install the runtime environment alone'),
      setDefault: yesNo('--set-default', 'Make it the default'),
      kubernetesRunnerType: yesNo('--kubernetes-runner-type', 'Accepted: every runtime is of this kind'),
      dryRun,
    },
    examples: ['windlass venona install --kube-namespace codefresh --cluster-name prod'],
    run: async (invocation) => (await import('../actions/venona.ts')).venonaInstall(invocation),
  }),
  command('venona status', {
    summary: 'Show runtime environments, when they were heard of and what is in their namespaces',
    arguments: [{ name: '[name]', summary: 'Runtime environment' }],
    options: { ...globals, kubeContextName, output: oneOf('-o, --output <format>', 'How to print', ['json']) },
    run: async (invocation) => (await import('../actions/venona.ts')).venonaStatus(invocation),
  }),
  command('venona upgrade', {
    summary: 'Bring the Runner of a runtime environment to the version of this program',
    arguments: [{ name: '<name>', summary: 'Runtime environment' }],
    options: { ...globals, ...helmOptions, kubeContextName, dryRun },
    run: async (invocation) => (await import('../actions/venona.ts')).venonaUpgrade(invocation),
  }),
  command('venona delete', {
    summary: 'Remove runtime environments and what serves them',
    about: 'Make sure that no pipeline uses them. Ends with exit code 1 when one of them could not be removed.',
    arguments: [{ name: '<name...>', summary: 'Runtime environments' }],
    options: {
      ...globals,
      ...helmOptions,
      ...inCluster,
      kubeContextName,
      revertTo: text('--revert-to <name>', 'The default from then on'),
    },
    run: async (invocation) => (await import('../actions/venona.ts')).venonaDelete(invocation),
  }),
]
