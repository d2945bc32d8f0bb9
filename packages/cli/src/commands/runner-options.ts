/** Options that several commands of the Runner share. */
import { also, flag, grouped, integer, maybeText, text, texts, yesNo } from '../command.ts'

export const kubeOptions = grouped('Cluster', {
  kubeContextName: text('--kube-context-name <name>', 'Context of the kubeconfig; the current one when left out'),
  kubeNamespace: text('--kube-namespace <name>', 'Namespace; codefresh when left out'),
  kubeConfigPath: text('--kube-config-path <file>', 'Kubeconfig; KUBECONFIG or ~/.kube/config when left out'),
})
export const inCluster = grouped('Cluster', { inCluster: yesNo('--in-cluster', 'Work on the cluster that this runs in') })
export const helmOptions = grouped('Helm', {
  helm: text('--helm <file>', 'The Helm program; WINDLASS_HELM or the one on the PATH when left out'),
  chart: text('--chart <chart>', 'The chart windlass-runtime: a folder, an archive or an oci:// address'),
})
export const loginOptions = grouped('Server', {
  token: text('--token <key>', 'API key; kept as context cf-runner, which becomes the current one. - reads standard input'),
  tokenFile: text('--token-file <file>', 'File that holds the API key'),
  url: text('--url <url>', 'Base URL of the server, as the cluster reaches it'),
})
export const setOptions = grouped('Values', {
  setValue: also(
    texts('--set-value <name=value>', 'Set one value, such as Storage.Backend=ebs; may be given many times'),
    '--set',
  ),
  setFile: texts('--set-file <name=file>', 'Set one value to what a file holds; may be given many times'),
})
export const placementOptions = grouped('Pods', {
  kubeNodeSelector: text('--kube-node-selector <labels>', 'Nodes of the agent and the volume provisioner: k=v,k=v'),
  buildNodeSelector: text('--build-node-selector <labels>', 'Nodes of builds: k=v,k=v'),
  tolerations: text('--tolerations <json>', 'Tolerations of agent, provisioner and volume monitor; @FILE reads them'),
})
export const valueOptions = {
  ...grouped('Values', {
    values: text('--values <file>', 'Values of the installation; a file answers every question'),
    storageClassName: text('--storage-class-name <name>', 'Use this storage class; no provisioner is installed then'),
    dockerRegistry: text('--docker-registry <host>', 'Registry in front of every image, those of builds included'),
  }),
  ...setOptions,
  ...placementOptions,
}
export const networkOptions = grouped('Network', {
  httpProxy: text('--http-proxy <url>', 'Proxy of the cluster; found in the environment when left out'),
  httpsProxy: text('--https-proxy <url>', 'Proxy of the cluster for https'),
  noProxy: text('--no-proxy <hosts>', 'Hosts that are reached without it'),
  envVars: texts(
    '--env-vars <name=value>',
    'Variable of every component, the engine and the Docker daemon; may be given many times',
  ),
})
export const agentPlaceOptions = grouped('Cluster of the agent', {
  agentKubeContextName: text('--agent-kube-context-name <name>', "Context of the agent's cluster"),
  agentKubeNamespace: text('--agent-kube-namespace <name>', 'Namespace of the agent; --kube-namespace means the same'),
})
export const runtimePlaceOptions = grouped('Cluster of the runtime', {
  runtimeKubeContextName: text('--runtime-kube-context-name <name>', "Context of the runtime's cluster"),
  runtimeKubeNamespace: text('--runtime-kube-namespace <name>', 'Namespace of its builds; --kube-namespace means the same'),
  runtimeKubeConfigPath: text('--runtime-kube-config-path <file>', "Kubeconfig of the runtime's cluster"),
})
export const attachOptions = {
  runtimeName: text('--runtime-name <name>', 'Runtime environment'),
  agentName: text('--agent-name <name>', 'Agent; may be left out while there is one alone'),
  agentId: text('--agent-id <id>', 'The same by its id'),
  agentKubeConfigPath: text('--agent-kube-config-path <file>', "Kubeconfig of the agent's cluster"),
  agentKubeServiceAccount: text('--agent-kube-service-account <name>', 'Accepted; the agent needs no other account'),
  runtimeKubeServiceAccount: text(
    '--runtime-kube-service-account <name>',
    "Account that the agent uses in the runtime's namespace",
  ),
  tokenLifetime: integer('--token-lifetime <seconds>', 'Give the agent a token that ends; attach again before it does'),
  restartAgent: yesNo('--restart-agent', 'Start the agent again, so that it serves the runtime at once'),
}
export const platformOnly = flag('--platform-only', 'Change the server alone, no cluster')
export const dryRun = flag('--dry-run', 'Print the manifests and change nothing')
export const accepted = grouped('Accepted for older scripts', {
  bypassDownload: yesNo('--bypass-download', 'Accepted: nothing is ever downloaded'),
  skipVersionCheck: yesNo('--skip-version-check', 'Accepted: agents and servers of neighbouring versions understand each other'),
})
export const helmValuesFile = maybeText(
  '--generate-helm-values-file [file]',
  'Write values for the chart in place of installing; ./generated_values.yaml when no file is named',
  './generated_values.yaml',
)
