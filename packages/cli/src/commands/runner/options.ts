/** Options shared by the commands of the Runner. */
import { withAliases, flag, grouped, integer, optionalText, text, texts, optionalBoolean } from '../../command.ts'

export const kubeOptions = grouped('Cluster', {
  kubeContextName: text('--kube-context-name <name>', 'Context of the kubeconfig (default: the current one)'),
  kubeNamespace: text('--kube-namespace <name>', 'Namespace (default: codefresh)'),
  kubeConfigPath: text('--kube-config-path <file>', 'Kubeconfig (default: KUBECONFIG or ~/.kube/config)'),
})
export const inCluster = grouped('Cluster', {
  inCluster: optionalBoolean('--in-cluster', 'Use the cluster in which this command runs'),
})
export const helmOptions = grouped('Helm', {
  helm: text('--helm <file>', 'Helm executable (default: WINDLASS_HELM, or helm on the PATH)'),
  chart: text('--chart <chart>', 'The chart windlass-runtime: a folder, an archive or an oci:// URL'),
})
export const loginOptions = grouped('Server', {
  token: text('--token <key>', 'API key, saved as the current context cf-runner; - reads standard input'),
  tokenFile: text('--token-file <file>', 'File with the API key'),
  url: text('--url <url>', 'Base URL of the server, reachable from the cluster'),
})
export const setOptions = grouped('Values', {
  setValue: withAliases(texts('--set-value <name=value>', 'Set a value, such as Storage.Backend=ebs; repeatable'), '--set'),
  setFile: texts('--set-file <name=file>', 'Set a value to the content of a file; repeatable'),
})
export const placementOptions = grouped('Pods', {
  kubeNodeSelector: text('--kube-node-selector <labels>', 'Nodes of the agent and the volume provisioner: k=v,k=v'),
  buildNodeSelector: text('--build-node-selector <labels>', 'Nodes of builds: k=v,k=v'),
  tolerations: text('--tolerations <json>', 'Tolerations of agent, provisioner and volume monitor; @FILE reads them from a file'),
})
export const valueOptions = {
  ...grouped('Values', {
    values: text('--values <file>', 'File with installation values; with it nothing is prompted for'),
    storageClassName: text('--storage-class-name <name>', 'Use this storage class and install no provisioner'),
    dockerRegistry: text('--docker-registry <host>', 'Registry for all images, including those of builds'),
  }),
  ...setOptions,
  ...placementOptions,
}
export const networkOptions = grouped('Network', {
  httpProxy: text('--http-proxy <url>', 'HTTP proxy of the cluster (default: from the environment)'),
  httpsProxy: text('--https-proxy <url>', 'HTTPS proxy of the cluster'),
  noProxy: text('--no-proxy <hosts>', 'Hosts that bypass the proxy'),
  envVars: texts(
    '--env-vars <name=value>',
    'Environment variable of every component, the engine and the Docker daemon; repeatable',
  ),
})
export const agentClusterOptions = grouped('Cluster of the agent', {
  agentKubeContextName: text('--agent-kube-context-name <name>', "Context of the agent's cluster"),
  agentKubeNamespace: text('--agent-kube-namespace <name>', 'Namespace of the agent; same as --kube-namespace'),
})
export const runtimeClusterOptions = grouped('Cluster of the runtime', {
  runtimeKubeContextName: text('--runtime-kube-context-name <name>', "Context of the runtime's cluster"),
  runtimeKubeNamespace: text('--runtime-kube-namespace <name>', 'Namespace of its builds; same as --kube-namespace'),
  runtimeKubeConfigPath: text('--runtime-kube-config-path <file>', "Kubeconfig of the runtime's cluster"),
})
/** Names a runtime and the agent that serves it. */
export const runtimeAndAgent = {
  runtimeName: text('--runtime-name <name>', 'Runtime environment'),
  agentName: text('--agent-name <name>', 'Name of the agent; optional if only one exists'),
  agentId: text('--agent-id <id>', 'Id of the agent'),
  agentKubeConfigPath: text('--agent-kube-config-path <file>', "Kubeconfig of the agent's cluster"),
  agentKubeServiceAccount: text('--agent-kube-service-account <name>', 'Accepted: the agent needs no other account'),
  restartAgent: optionalBoolean('--restart-agent', 'Restart the agent, so that the change takes effect immediately'),
}
export const agentAccount = {
  runtimeKubeServiceAccount: text(
    '--runtime-kube-service-account <name>',
    "Service account of the agent in the runtime's namespace (default: runner)",
  ),
}
export const agentToken = {
  ...agentAccount,
  tokenLifetime: integer('--token-lifetime <seconds>', "Lifetime of the agent's token, at least 600 s; the agent renews it"),
}
export const platformOnly = flag('--platform-only', 'Change only the server, not the cluster')
export const dryRun = flag('--dry-run', 'Print the manifests without applying them')
export const accepted = grouped('Accepted for older scripts', {
  bypassDownload: optionalBoolean('--bypass-download', 'Accepted: nothing is downloaded'),
  skipVersionCheck: optionalBoolean('--skip-version-check', 'Accepted: agents and servers of adjacent versions are compatible'),
})
export const helmValuesFile = optionalText(
  '--generate-helm-values-file [file]',
  'Write chart values instead of installing (default file: ./generated_values.yaml)',
  './generated_values.yaml',
)
