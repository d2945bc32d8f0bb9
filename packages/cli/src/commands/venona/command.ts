/** The commands of the old `venona` installer, also available if this program is called `venona` or `venonactl`. */
import { command, flag, oneOf, text, texts, optionalBoolean } from '../../command.ts'
import { dryRun, helmOptions, inCluster, setOptions } from '../runner/options.ts'

const globals = {
  apiHost: text('--api-host <url>', 'Base URL of the server'),
  apiToken: text('--api-token <key>', 'API key; CODEFRESH_API_TOKEN keeps it off the command line'),
  context: text('--context <name>', 'Context of the configuration file'),
  kubeConfigPath: text('--kube-config-path <file>', 'Kubeconfig'),
  skipVersionCheck: flag('--skip-version-check', 'Accepted'),
}
const kubeContextName = text('--kube-context-name <name>', 'Context of the kubeconfig')

export const venonaCommands = [
  command('venona install', {
    summary: 'Install a Runner with the options of the old installer',
    options: {
      ...globals,
      ...setOptions,
      ...helmOptions,
      ...inCluster,
      clusterName: text('--cluster-name <name>', 'Name of the runtime; at most 20 characters'),
      venonaVersion: text('--venona-version <version>', 'Accepted: the version is that of this program'),
      runtimeEnvironment: text('--runtime-environment <name>', 'An existing runtime environment'),
      kubeNamespace: text('--kube-namespace <name>', 'Namespace'),
      kubeContextName,
      storageClass: text('--storage-class <name>', 'Use this storage class'),
      kubeNodeSelector: text('--kube-node-selector <labels>', 'Nodes of the agent and the volume provisioner'),
      buildNodeSelector: text('--build-node-selector <labels>', 'Nodes of builds'),
      buildAnnotations: texts('--build-annotations <name=value>', 'Annotation of build pods'),
      skipRuntimeInstallation: optionalBoolean(
        '--skip-runtime-installation',
        'Install only the agent; needs --runtime-environment',
      ),
      onlyRuntimeEnvironment: optionalBoolean('--only-runtime-environment', 'Install only the runtime environment'),
      setDefault: optionalBoolean('--set-default', 'Make it the default'),
      kubernetesRunnerType: optionalBoolean('--kubernetes-runner-type', 'Accepted: every runtime is of this type'),
      dryRun,
    },
    examples: ['windlass venona install --kube-namespace codefresh --cluster-name prod'],
    run: async (invocation) => (await import('./action.ts')).venonaInstall(invocation),
  }),
  command('venona status', {
    summary: 'Show runtime environments, their last report and the objects in their namespaces',
    arguments: [{ name: '[name]', summary: 'Runtime environment' }],
    options: { ...globals, kubeContextName, output: oneOf('-o, --output <format>', 'Output format', ['json']) },
    run: async (invocation) => (await import('./action.ts')).venonaStatus(invocation),
  }),
  command('venona upgrade', {
    summary: 'Upgrade the Runner of a runtime environment to the version of this program',
    arguments: [{ name: '<name>', summary: 'Runtime environment' }],
    options: { ...globals, ...helmOptions, kubeContextName, dryRun },
    run: async (invocation) => (await import('./action.ts')).venonaUpgrade(invocation),
  }),
  command('venona delete', {
    summary: 'Remove runtime environments and their agents',
    about: 'Make sure that no pipeline uses them. The exit code is 1 if one could not be removed.',
    arguments: [{ name: '<name...>', summary: 'Runtime environments' }],
    options: {
      ...globals,
      ...helmOptions,
      ...inCluster,
      kubeContextName,
      revertTo: text('--revert-to <name>', 'New default runtime environment'),
    },
    run: async (invocation) => (await import('./action.ts')).venonaDelete(invocation),
  }),
]
