/** Commands for runtime environments, agents and clusters, named as in the Codefresh CLI. */
import { withAliases, command, flag, integer, oneOf, text, texts, optionalBoolean } from '../../command.ts'
import { OUTPUT_FORMATS } from '../../output-formats.ts'
import { inCluster, kubeOptions } from '../runner/options.ts'

const listing = {
  output: oneOf('-o, --output <format>', 'Output format (default: a table)', [...OUTPUT_FORMATS, 'id']),
  noHeaders: flag('--no-headers', 'Omit the header of the table'),
  selectColumns: text('--select-columns <names>', 'Columns of the table, separated by commas'),
  watch: flag('-w, --watch', 'Refresh every 3 seconds until Ctrl-C'),
}
const runtime = { name: '<runtime>', summary: 'Name of a runtime environment' }

export const runtimeCommands = [
  command('get runtimes', {
    summary: 'List runtime environments, or show the specification of one (also: get re)',
    arguments: [{ name: '[name]', summary: 'Name of a runtime environment' }],
    options: {
      ...listing,
      version: integer('--version <number>', 'An older version of the specification'),
      history: optionalBoolean('--history', 'Show all versions, as JSON'),
      extend: optionalBoolean('--extend', 'Include everything that it extends'),
      origins: flag('--origins', 'Show each value with the runtime environment or base layer that it comes from'),
      limit: integer('--limit <count>', 'Page size (default: 25)'),
      page: integer('--page <number>', 'Page of the list (default: 1)'),
    },
    examples: ['windlass get re', 'windlass get re prod/builds -o yaml > re.yaml', 'windlass get re prod/builds --origins'],
    run: async (invocation) => (await import('./action.ts')).getRuntimes(invocation),
  }),
  command('describe runtimes', {
    summary: 'Show the details of a runtime environment: agent, load, disk, nodes and images (also: describe re)',
    arguments: [runtime],
    options: { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) },
    examples: ['windlass describe re prod/builds'],
    run: async (invocation) => (await import('./describe.ts')).describeRuntimeNamed(invocation),
  }),
  command('get system-runtimes', {
    summary: 'List the base layers of runtime environments, or show one (also: get sys-re)',
    arguments: [{ name: '[name]', summary: 'Name of a base layer, such as system/default' }],
    options: { ...listing, extend: optionalBoolean('--extend', 'Include everything that it extends') },
    examples: ['windlass get sys-re', 'windlass get sys-re system/default -o yaml > base.yaml'],
    run: async (invocation) => (await import('./bases.ts')).getBases(invocation),
  }),
  command('patch system-runtimes', {
    summary: 'Replace a base layer of runtime environments with a file (also: patch sys-re)',
    about:
      'The file has the format of `windlass get sys-re NAME -o yaml`. It applies to the next builds of all runtime environments that extend it. ' +
      'The name in the file takes precedence over the argument.',
    arguments: [{ name: '[name]', summary: 'Name of the base layer; begins with system/' }],
    options: {
      file: text('-f, --file <file>', 'YAML or JSON; - reads standard input'),
      extends: texts('--extends <name>', 'Base layer to inherit from; repeatable'),
    },
    examples: ['windlass patch sys-re system/default -f base.yaml'],
    run: async (invocation) => (await import('./bases.ts')).patchBase(invocation),
  }),
  command('delete system-runtimes', {
    summary: 'Delete a stored base layer, so that the built-in one applies again (also: delete sys-re)',
    arguments: [{ name: '<name>', summary: 'Name of the base layer' }],
    options: {},
    examples: ['windlass delete sys-re system/default'],
    run: async (invocation) => (await import('./bases.ts')).deleteBase(invocation),
  }),
  command('get runtime-images', {
    summary: 'Show the images that a runtime environment uses for builds (also: get re-base-images)',
    arguments: [runtime],
    options: listing,
    run: async (invocation) => (await import('./action.ts')).getRuntimeImages(invocation),
  }),
  command('get agents', {
    summary: 'List agents and their health',
    arguments: [{ name: '[name]', summary: 'Name or id of an agent' }],
    options: { ...listing, name: text('-n, --name <name>', 'Same as the argument') },
    run: async (invocation) => (await import('./agents.ts')).getAgents(invocation),
  }),
  command('get clusters', {
    summary: 'List the clusters that deployments can use',
    options: listing,
    run: async (invocation) => (await import('./clusters.ts')).getClusters(invocation),
  }),
  command('patch runtimes', {
    summary: 'Replace the specification of a runtime environment with a file (also: patch re)',
    about:
      'The file has the format of `windlass get re NAME -o yaml`. It replaces the whole specification and creates a new version. The name in ' +
      'the file takes precedence over the argument.',
    arguments: [{ name: '[name]', summary: 'Name of the runtime environment' }],
    options: {
      file: text('-f, --file <file>', 'YAML or JSON; - reads standard input'),
      default: optionalBoolean('--default', 'Make it the default'),
      extends: texts('--extends <name>', 'Runtime environment to inherit from; repeatable'),
      capacity: integer('--capacity <number>', 'Maximum number of concurrent builds'),
      namespace: withAliases(text('--namespace <name>', 'Namespace of its builds'), '--ns'),
      cluster: text('-c, --cluster <name>', 'Name of its cluster'),
      description: text('-d, --description <text>', 'Description of the change, shown in the history'),
    },
    examples: [
      'windlass patch re prod/builds -f re.yaml',
      'windlass patch re prod/builds --default',
      'windlass patch re prod/builds --capacity 20',
    ],
    run: async (invocation) => (await import('./action.ts')).patchRuntime(invocation),
  }),
  command('delete runtimes', {
    summary: 'Delete a runtime environment (also: delete re)',
    arguments: [runtime],
    options: { force: optionalBoolean('--force', 'Delete even the default one, or one with lost attempts') },
    run: async (invocation) => (await import('./action.ts')).deleteRuntimeNamed(invocation),
  }),
  command('diff runtimes', {
    summary: 'Compare two runtime environments or versions (also: diff re)',
    options: {
      firstName: text('--first-name <name>', 'First runtime environment'),
      firstVersion: integer('--first-version <number>', 'Its version (default: the current one)'),
      secondName: text('--second-name <name>', 'Second runtime environment (default: the first)'),
      secondVersion: integer('--second-version <number>', 'Its version (default: the current one)'),
    },
    run: async (invocation) => (await import('./action.ts')).diffRuntimes(invocation),
  }),
  command('create runtimes', {
    summary: 'Explain how to create runtime environments (also: create re)',
    options: {},
    run: async (invocation) => (await import('./action.ts')).explainCreation(invocation),
  }),
  command('patch agents', {
    summary: 'Rename an agent, or set its runtime environments',
    arguments: [{ name: '[name]', summary: 'Name or id of the agent' }],
    options: {
      name: text('--name <name>', 'Same as the argument'),
      newName: text('-n, --newName <name>', 'New name'),
      runtimes: withAliases(texts('-r, --runtimes <name>', 'Runtime environment that it serves; repeatable'), '--re'),
    },
    run: async (invocation) => (await import('./agents.ts')).patchAgentNamed(invocation),
  }),
  command('create cluster', {
    summary: 'Register a cluster for deployments',
    about: 'With --behind-firewall only builds that run in the cluster use it; the server does not connect to it.',
    options: {
      kubeContext: withAliases(text('--kube-context <name>', 'Context of the kubeconfig'), '-kc', '--kube-context-name'),
      kubeConfigPath: kubeOptions.kubeConfigPath,
      namespace: withAliases(
        text('--namespace <name>', 'Namespace of the account (default: default)'),
        '-ns',
        '--kube-namespace',
      ),
      serviceaccount: withAliases(text('--serviceaccount <name>', 'Service account of deployments (default: default)'), '-sa'),
      behindFirewall: optionalBoolean('--behind-firewall', 'The cluster cannot be reached from outside'),
      name: text('--name <name>', 'Name of the cluster (default: the context)'),
      setValue: withAliases(texts('--set-value <name=value>', 'KubernetesHost=URL: another URL of the API server'), '--set'),
      ...inCluster,
    },
    examples: ['windlass create cluster --kube-context prod --namespace default --serviceaccount deployer --behind-firewall'],
    run: async (invocation) => (await import('./clusters.ts')).createClusterRecord(invocation),
  }),
  command('delete clusters', {
    summary: 'Remove a cluster that is registered for deployments',
    arguments: [{ name: '<name>', summary: 'Name of the cluster' }],
    options: {},
    run: async (invocation) => (await import('./clusters.ts')).deleteClusterRecord(invocation),
  }),
  command('components download', {
    summary: 'Accepted for older scripts; downloads nothing',
    options: {
      location: text('--location <folder>', 'Accepted'),
      components: texts('--components <name>', 'Accepted'),
      bypassDownload: optionalBoolean('--bypass-download', 'Accepted'),
    },
    run: async (invocation) => (await import('./components.ts')).explainComponents(invocation),
  }),
  command('components update', {
    summary: 'Accepted for older scripts; downloads nothing',
    options: { location: text('--location <folder>', 'Accepted'), components: texts('--components <name>', 'Accepted') },
    run: async (invocation) => (await import('./components.ts')).explainComponents(invocation),
  }),
]
