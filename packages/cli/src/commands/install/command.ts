/** Commands that install the components of a Runner separately, for several runtimes with one agent. */
import { withAliases, command, flag, text, texts, optionalBoolean } from '../../command.ts'
import {
  accepted,
  agentAccount,
  agentClusterOptions,
  agentToken,
  dryRun,
  helmOptions,
  inCluster,
  kubeOptions,
  networkOptions,
  platformOnly,
  runtimeAndAgent,
  runtimeClusterOptions,
  setOptions,
  valueOptions,
} from '../runner/options.ts'

const runtimeCreation = {
  skipReCreation: optionalBoolean('--skip-re-creation', 'Use an existing runtime environment'),
  skipClusterCreation: optionalBoolean('--skip-cluster-creation', 'Do not register the cluster for deployments'),
  makeDefaultRuntime: optionalBoolean('--make-default-runtime', 'Make it the default runtime environment'),
}

const appProxyCluster = {
  runtimeEnvironment: withAliases(
    text('--runtime-environment <name>', 'Runtime environment (default: that of the Runner in the namespace, or the only one)'),
    '--runtime-name',
  ),
  ...kubeOptions,
  ...inCluster,
}
const appProxyOptions = {
  host: withAliases(text('--host <host>', 'Host name at which the ingress controller terminates TLS'), '--app-proxy-host'),
  ingressClass: withAliases(
    text('--ingress-class <name>', 'Ingress class (default: that of the cluster)'),
    '--app-proxy-ingress-class',
  ),
  url: text('--url <url>', 'Base URL of the server for the cluster'),
  ...appProxyCluster,
  values: valueOptions.values,
  dockerRegistry: valueOptions.dockerRegistry,
  ...setOptions,
  ...helmOptions,
  ...accepted,
}

export const installCommands = [
  command('install agent', {
    summary: 'Install only an agent; prints its token as the last line',
    about: 'The token of an existing or deleted agent reuses or restores that agent. Without a token a new agent is registered.',
    options: {
      name: text('--name <name>', 'Name of the agent'),
      token: text('--token <token>', 'Token of an existing or deleted agent'),
      tokenFile: text('--token-file <file>', 'File with the token'),
      ...kubeOptions,
      ...agentClusterOptions,
      ...inCluster,
      ...valueOptions,
      ...networkOptions,
      installRuntime: optionalBoolean('--install-runtime', 'Install a runtime environment in the same namespace'),
      runtimeName: text('--runtime-name <name>', 'Name of that runtime environment'),
      ...runtimeCreation,
      platformOnly,
      dryRun,
      ...helmOptions,
      ...accepted,
    },
    examples: [
      'windlass install agent --kube-namespace runner',
      'windlass install agent --token-file agent.token --kube-namespace runner',
    ],
    run: async (invocation) => (await import('./agent.ts')).installAgent(invocation),
  }),
  command('install runtime', {
    summary: 'Install only a runtime environment; prints its name',
    options: {
      ...runtimeAndAgent,
      ...agentToken,
      ...kubeOptions,
      ...runtimeClusterOptions,
      ...agentClusterOptions,
      ...inCluster,
      ...valueOptions,
      ...networkOptions,
      token: text('--token <token>', 'Accepted: the current context is used'),
      attachRuntime: optionalBoolean('--attach-runtime', 'Attach it to the agent'),
      clusterServiceAccount: text('--cluster-service-account <name>', 'Service account of deployments (default: default)'),
      buildAnnotations: texts('--build-annotations <name=value>', 'Annotation of build pods; repeatable'),
      ...runtimeCreation,
      platformOnly,
      dryRun,
      ...helmOptions,
      ...accepted,
    },
    examples: [
      'windlass install runtime --runtime-kube-namespace team-b --agent-name cluster-1 --attach-runtime --agent-kube-namespace runner',
    ],
    run: async (invocation) => (await import('./runtime.ts')).installRuntime(invocation),
  }),
  command('install monitor', {
    summary: 'Install the monitor, which reports what runs in the cluster',
    options: {
      clusterId: text('--cluster-id <name>', 'Name of the cluster on the server (default: the context)'),
      token: text('--token <token>', 'Token of an agent (default: that of the agent in the namespace)'),
      url: text('--url <url>', 'Base URL of the server'),
      ...kubeOptions,
      ...inCluster,
      values: valueOptions.values,
      dockerRegistry: valueOptions.dockerRegistry,
      dryRun,
      ...helmOptions,
      ...accepted,
    },
    run: async (invocation) => (await import('./monitor.ts')).installMonitor(invocation),
  }),
  command('install app-proxy', {
    summary: 'Install the app-proxy, through which pages and builds reach a Git forge behind the firewall',
    about:
      'Adds it to the Runner of the namespace, and writes its address https://HOST/app-proxy into the runtime environment. The ingress controller must terminate TLS for ' +
      'the host: the app-proxy refuses calls over plain HTTP. Values set path, certificate, annotations, or an HTTPRoute of the Gateway API instead of an Ingress.',
    options: {
      ...appProxyOptions,
      tokenOnly: flag('--token-only', 'Only register it and write its Secret, for an installation with Helm'),
      dryRun,
    },
    examples: [
      'windlass install app-proxy --host proxy.example.com --ingress-class nginx --set-value AppProxy.Ingress.TLSSecret=proxy-tls',
      'windlass install app-proxy --values values.yaml',
    ],
    run: async (invocation) => (await import('./app-proxy.ts')).installAppProxy(invocation),
  }),
  command('upgrade app-proxy', {
    summary: 'Upgrade the app-proxy to the version of this program, and change its values',
    about:
      'Its token, its Git integrations and the Git tokens of users are kept. The other parts of the release are upgraded with it.',
    options: appProxyOptions,
    run: async (invocation) => (await import('./app-proxy.ts')).upgradeAppProxy(invocation),
  }),
  command('uninstall app-proxy', {
    summary: 'Remove the app-proxy, and its address from the runtime environment',
    about: 'Lists what is removed, and asks for confirmation. Git integrations and the Git tokens of users are removed as well.',
    options: {
      yes: flag('-y, --yes', 'Do not prompt'),
      force: flag('-f, --force', 'Like --yes'),
      ...appProxyCluster,
      values: text('--values <file>', 'Values with which it was installed; sets context and namespace'),
      ...helmOptions,
      ...accepted,
    },
    run: async (invocation) => (await import('./uninstall-app-proxy.ts')).uninstallAppProxy(invocation),
  }),
  command('uninstall agent', {
    summary: 'Remove an agent from its cluster and from the server',
    options: {
      name: text('--name <name>', 'Name of the agent'),
      ...kubeOptions,
      ...agentClusterOptions,
      ...inCluster,
      ...helmOptions,
    },
    run: async (invocation) => (await import('./agent.ts')).uninstallAgent(invocation),
  }),
  command('uninstall runtime', {
    summary: 'Detach a runtime environment and remove it from its cluster and from the server',
    options: {
      name: text('--name <name>', 'Runtime environment; same as --runtime-name'),
      ...runtimeAndAgent,
      ...agentAccount,
      ...kubeOptions,
      ...runtimeClusterOptions,
      ...agentClusterOptions,
      ...inCluster,
      storageClassName: text('--storage-class-name <name>', 'Accepted: the storage class is removed with its release'),
      ...helmOptions,
    },
    run: async (invocation) => (await import('./runtime.ts')).uninstallRuntime(invocation),
  }),
  command('uninstall monitor', {
    summary: 'Remove the monitor',
    options: { ...kubeOptions, ...inCluster, ...helmOptions },
    run: async (invocation) => (await import('./monitor.ts')).uninstallMonitor(invocation),
  }),
  command('attach runtime', {
    summary: 'Attach a runtime environment in another namespace or cluster to an agent',
    options: {
      ...runtimeAndAgent,
      ...agentToken,
      ...kubeOptions,
      ...runtimeClusterOptions,
      ...agentClusterOptions,
      ...inCluster,
      setValue: withAliases(
        texts('--set-value <name=value>', 'KubernetesHost=URL: URL of the API server for the agent'),
        '--set',
      ),
      platformOnly,
      ...helmOptions,
    },
    examples: [
      'windlass attach runtime --agent-name cluster-1 --agent-kube-namespace runner --runtime-name prod/team-b --runtime-kube-namespace team-b',
    ],
    run: async (invocation) => (await import('./attach-runtime.ts')).attachRuntime(invocation),
  }),
  command('detach runtime', {
    summary: 'Detach a runtime environment from an agent',
    options: { ...runtimeAndAgent, ...kubeOptions, ...agentClusterOptions, ...inCluster, platformOnly, ...helmOptions },
    run: async (invocation) => (await import('./attach-runtime.ts')).detachRuntime(invocation),
  }),
]
