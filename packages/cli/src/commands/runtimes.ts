/** Runtime environments, agents and clusters as the vendor's command names their commands. */
import { also, command, flag, integer, oneOf, text, texts, yesNo } from '../command.ts'
import { OUTPUT_FORMATS } from '../output-formats.ts'
import { inCluster, kubeOptions } from './runner-options.ts'

const listing = {
  output: oneOf('-o, --output <format>', 'How to print; a table when left out', [...OUTPUT_FORMATS, 'id']),
  noHeaders: flag('--no-headers', 'Leave out the head of the table'),
  selectColumns: text('--select-columns <names>', 'Only these columns of the table, separated by commas'),
  watch: flag('-w, --watch', 'Show it again every 3 seconds, until Ctrl-C'),
}
const runtime = { name: '<runtime>', summary: 'Name of a runtime environment' }

export const runtimeCommands = [
  command('get runtimes', {
    summary: 'List runtime environments, or show the specification of one (also: get re)',
    arguments: [{ name: '[name]', summary: 'Only this one' }],
    options: {
      ...listing,
      version: integer('--version <number>', 'An older version of the specification'),
      history: yesNo('--history', 'All versions, as JSON'),
      extend: yesNo('--extend', 'With everything that it extends'),
      limit: integer('--limit <count>', 'Most to list; 25 when left out'),
      page: integer('--page <number>', 'Which page of the list'),
    },
    examples: ['windlass get re', 'windlass get re prod/builds -o yaml > re.yaml'],
    run: async (invocation) => (await import('../actions/runtimes.ts')).getRuntimes(invocation),
  }),
  command('get runtime-images', {
    summary: 'Show the images that builds of a runtime environment are made of (also: get re-base-images)',
    arguments: [runtime],
    options: listing,
    run: async (invocation) => (await import('../actions/runtimes.ts')).getRuntimeImages(invocation),
  }),
  command('get agents', {
    summary: 'List agents and whether they are healthy',
    arguments: [{ name: '[name]', summary: 'Name or id of an agent' }],
    options: { ...listing, name: text('-n, --name <name>', 'The same as the argument') },
    run: async (invocation) => (await import('../actions/agents.ts')).getAgents(invocation),
  }),
  command('get clusters', {
    summary: 'List the clusters that deployments can use',
    options: listing,
    run: async (invocation) => (await import('../actions/clusters.ts')).getClusters(invocation),
  }),
  command('patch runtimes', {
    summary: 'Replace the specification of a runtime environment by a file (also: patch re)',
    about:
      'The file is what `windlass get re NAME -o yaml` prints, changed. It replaces the specification whole and makes a new version. Its name is ' +
      'that of the file; the argument counts where the file has none.',
    arguments: [{ name: '[name]', summary: 'Name of the runtime environment' }],
    options: {
      file: text('-f, --file <file>', 'YAML or JSON; - reads standard input'),
      default: yesNo('--default', 'Make it the default'),
      extends: texts('--extends <name>', 'What it inherits from; may be given many times'),
      namespace: also(text('--namespace <name>', 'Namespace of its builds'), '--ns'),
      cluster: text('-c, --cluster <name>', 'Name of its cluster'),
      description: text('-d, --description <text>', 'Why; shown in the history'),
    },
    examples: ['windlass patch re prod/builds -f re.yaml', 'windlass patch re prod/builds --default'],
    run: async (invocation) => (await import('../actions/runtimes.ts')).patchRuntime(invocation),
  }),
  command('delete runtimes', {
    summary: 'Delete a runtime environment (also: delete re)',
    arguments: [runtime],
    options: { force: yesNo('--force', 'Also the default one') },
    run: async (invocation) => (await import('../actions/runtimes.ts')).deleteRuntimeNamed(invocation),
  }),
  command('diff runtimes', {
    summary: 'Show what differs between two runtime environments or versions (also: diff re)',
    options: {
      firstName: text('--first-name <name>', 'One runtime environment'),
      firstVersion: integer('--first-version <number>', 'Its version; the current one when left out'),
      secondName: text('--second-name <name>', 'The other; the same one when left out'),
      secondVersion: integer('--second-version <number>', 'Its version; the current one when left out'),
    },
    run: async (invocation) => (await import('../actions/runtimes.ts')).diffRuntimes(invocation),
  }),
  command('create runtimes', {
    summary: 'Says how runtime environments are made (also: create re)',
    options: {},
    run: async (invocation) => (await import('../actions/runtimes.ts')).explainCreation(invocation),
  }),
  command('patch agents', {
    summary: 'Rename an agent, or set what it serves',
    arguments: [{ name: '[name]', summary: 'Name or id of the agent' }],
    options: {
      name: text('--name <name>', 'The same as the argument'),
      newName: text('-n, --newName <name>', 'New name'),
      runtimes: also(texts('-r, --runtimes <name>', 'Runtime environment that it serves; may be given many times'), '--re'),
    },
    run: async (invocation) => (await import('../actions/agents.ts')).patchAgentNamed(invocation),
  }),
  command('create cluster', {
    summary: 'Register a cluster for deployments',
    about: 'With --behind-firewall only builds that run inside use it; nothing else ever tries to reach it.',
    options: {
      kubeContext: also(text('--kube-context <name>', 'Context of the kubeconfig'), '-kc', '--kube-context-name'),
      kubeConfigPath: kubeOptions.kubeConfigPath,
      namespace: also(text('--namespace <name>', 'Namespace of the account; default when left out'), '-ns', '--kube-namespace'),
      serviceaccount: also(text('--serviceaccount <name>', 'Account of deployments; default when left out'), '-sa'),
      behindFirewall: yesNo('--behind-firewall', 'Nothing from outside can reach it'),
      name: text('--name <name>', 'Name of the cluster; the context when left out'),
      setValue: also(texts('--set-value <name=value>', 'KubernetesHost=URL: another address of the API server'), '--set'),
      ...inCluster,
    },
    examples: ['windlass create cluster --kube-context prod --namespace default --serviceaccount deployer --behind-firewall'],
    run: async (invocation) => (await import('../actions/clusters.ts')).createClusterRecord(invocation),
  }),
  command('delete clusters', {
    summary: 'Forget a cluster of deployments',
    arguments: [{ name: '<name>', summary: 'Name of the cluster' }],
    options: {},
    run: async (invocation) => (await import('../actions/clusters.ts')).deleteClusterRecord(invocation),
  }),
  command('components download', {
    summary: 'Says that there is nothing to download',
    options: {
      location: text('--location <folder>', 'Accepted'),
      components: texts('--components <name>', 'Accepted'),
      bypassDownload: yesNo('--bypass-download', 'Accepted'),
    },
    run: async (invocation) => (await import('../actions/components.ts')).explainComponents(invocation),
  }),
  command('components update', {
    summary: 'Says that there is nothing to download',
    options: { location: text('--location <folder>', 'Accepted'), components: texts('--components <name>', 'Accepted') },
    run: async (invocation) => (await import('../actions/components.ts')).explainComponents(invocation),
  }),
]
