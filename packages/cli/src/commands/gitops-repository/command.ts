/** Commands for what the shared configuration repository has of a GitOps runtime. They call the runtime itself, at the URL of its tunnel or its ingress. */
import { command, flag, oneOf, optionalBoolean, text, texts } from '../../command.ts'

const runtime = [{ name: '<runtime>', summary: 'Name of the GitOps runtime' }]
const source = [...runtime, { name: '<name>', summary: 'Name of the Git source' }]
const url = {
  runtimeUrl: text('--runtime-url <url>', 'URL of the runtime (default: that of its tunnel)'),
}
const output = { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) }
const message = { message: text('-m, --message <text>', 'Message of the commit (default: what it does)') }

/** Options of a Git source. */
const fields = {
  gitSrcRepo: text(
    '--git-src-repo <url>',
    'Repository: https://HOST/OWNER/NAME.git/FOLDER?ref=BRANCH; folder and branch are optional',
  ),
  include: text('--include <pattern>', 'Files that are applied (default: *)'),
  exclude: text('--exclude <pattern>', 'Files that are not applied'),
  project: text('--project <name>', 'Project of Argo CD (default: default)'),
  label: texts('--label <name=value>', 'Label of the application; can be repeated'),
  sourceNamespace: text('--source-namespace <name>', 'Namespace of the applications of a restricted Git source; begins with cf-'),
  destination: texts(
    '--destination <cluster/namespace>',
    'Where the applications of a restricted Git source may deploy to, with * as wildcard; can be repeated',
  ),
  sourceRepo: texts('--source-repo <url>', 'Repository that applications of a restricted Git source may use; can be repeated'),
}

const configCommands = [
  command('gitops config get', {
    summary: 'Show the shared configuration repository of the account',
    options: output,
    examples: ['windlass gitops config get'],
    run: async (invocation) => (await import('./config-action.ts')).getConfig(invocation),
  }),
  command('gitops config set', {
    summary: 'Choose the shared configuration repository, and add a GitOps runtime to it',
    about:
      'The runtime checks with your Git token that the repository exists and that you may push to it. Then it becomes the one of the account, unless there is another, and one commit adds the folders ' +
      'and files that are missing. Without --shared-config-repo the runtime is added to the repository of the account. Repeating the command makes no further commit.',
    arguments: runtime,
    options: {
      sharedConfigRepo: text('--shared-config-repo <url>', 'Repository: https://HOST/OWNER/NAME.git/FOLDER?ref=BRANCH'),
      configurationRuntime: optionalBoolean(
        '--configuration-runtime',
        'Whether the runtime applies products and promotions (default: true for the first one)',
      ),
      ...message,
      ...url,
      ...output,
    },
    examples: [
      'windlass gitops config set prod --shared-config-repo https://git.example.com/acme/gitops.git?ref=main',
      'windlass gitops config set staging --configuration-runtime=false',
    ],
    run: async (invocation) => (await import('./config-action.ts')).setConfig(invocation),
  }),
  command('gitops config reset', {
    summary: 'Forget the shared configuration repository of the account; its files stay',
    options: {},
    examples: ['windlass gitops config reset'],
    run: async (invocation) => (await import('./config-action.ts')).resetConfig(invocation),
  }),
  command('gitops config remove', {
    summary: 'Remove a GitOps runtime from the shared repository; what it has applied stays',
    about:
      'The applications of the runtime itself are removed from its cluster without what they have applied, and one commit removes the files of the runtime. `windlass gitops config set` adds it again, without its ' +
      'Git sources and managed clusters.',
    arguments: runtime,
    options: { yes: flag('-y, --yes', 'Do not ask for confirmation'), ...url },
    examples: ['windlass gitops config remove prod --yes'],
    run: async (invocation) => (await import('./config-action.ts')).removeConfig(invocation),
  }),
  command('gitops config application', {
    summary: 'Print the Argo CD application with which a GitOps runtime applies the shared repository',
    about: 'Create it once in the cluster of the runtime. The repository has all other applications.',
    arguments: runtime,
    options: url,
    examples: ['windlass gitops config application prod | kubectl apply -f -'],
    run: async (invocation) => (await import('./config-action.ts')).printApplication(invocation),
  }),
]

const chartCommands = [
  command('gitops chart get', {
    summary: 'Show the chart of a GitOps runtime that Argo CD installs from the shared repository',
    arguments: runtime,
    options: { ...url, ...output },
    examples: ['windlass gitops chart get prod'],
    run: async (invocation) => (await import('./chart-action.ts')).getChart(invocation),
  }),
  command('gitops chart set', {
    summary: 'Let Argo CD install a GitOps runtime from the shared repository, or another version of it',
    about:
      'One commit writes a chart whose dependency is the chart of the runtime, and the application that installs it. Later only --version is needed. The values are in Git, so they must not have secrets.',
    arguments: runtime,
    options: {
      version: text('--version <version>', 'Version of the chart'),
      chart: text('--chart <url>', 'Chart: oci://HOST/PATH/NAME (default: the one that the repository has)'),
      values: text('--values <file>', 'Values of the chart (default: those that the repository has)'),
      ...message,
      ...url,
      ...output,
    },
    examples: ['windlass gitops chart set prod --chart oci://registry.example.com/charts/gitops-runtime --version 1.2.3'],
    run: async (invocation) => (await import('./chart-action.ts')).setChart(invocation),
  }),
]

const gitSourceCommands = [
  command('gitops git-source list', {
    summary: 'List the Git sources of a GitOps runtime',
    arguments: runtime,
    options: { ...url, ...output },
    examples: ['windlass gitops git-source list prod'],
    run: async (invocation) => (await import('./git-source-action.ts')).listGitSources(invocation),
  }),
  command('gitops git-source create', {
    summary: 'Create a Git source: a repository that a GitOps runtime applies',
    about:
      'One commit in your name writes its file into the shared configuration repository. With --restricted the source may only have applications, sets of applications and projects, in a namespace of its own, and ' +
      'they may only deploy to the given destinations.',
    arguments: source,
    options: { ...fields, restricted: flag('--restricted', 'Create a restricted Git source'), ...message, ...url, ...output },
    examples: [
      'windlass gitops git-source create prod apps --git-src-repo https://git.example.com/acme/apps.git/prod?ref=main',
      'windlass gitops git-source create prod shop --restricted --source-namespace cf-shop --destination in-cluster/shop-* --git-src-repo https://git.example.com/shop/apps.git',
    ],
    run: async (invocation) => (await import('./git-source-action.ts')).createGitSource(invocation),
  }),
  command('gitops git-source edit', {
    summary: 'Change a Git source; its name and type stay',
    about: 'Options that are not given keep their values. An empty --exclude removes it.',
    arguments: source,
    options: { ...fields, ...message, ...url, ...output },
    examples: ['windlass gitops git-source edit prod apps --include *.yaml'],
    run: async (invocation) => (await import('./git-source-action.ts')).editGitSource(invocation),
  }),
  command('gitops git-source delete', {
    summary: 'Delete a Git source; the applications that came from it stay',
    arguments: source,
    options: url,
    examples: ['windlass gitops git-source delete prod apps'],
    run: async (invocation) => (await import('./git-source-action.ts')).deleteGitSource(invocation),
  }),
]

const clusterCommands = [
  command('gitops cluster list', {
    summary: 'List the clusters of a GitOps runtime: those that it manages, and how Argo CD last reached them',
    arguments: runtime,
    options: { ...url, ...output },
    examples: ['windlass gitops cluster list prod'],
    run: async (invocation) => (await import('./cluster-action.ts')).listClusters(invocation),
  }),
  command('gitops cluster add', {
    summary: 'Let a GitOps runtime deploy to another cluster',
    about:
      'Sends the address of a cluster and the token of its kubeconfig user to the runtime, which keeps them in a Secret of its namespace, and commits a file without them to the shared configuration repository. ' +
      'Use the token of a service account that does not expire.',
    arguments: runtime,
    options: {
      name: text('--name <name>', 'Name of the cluster (default: made from the name of the context)'),
      context: text('--context <name>', 'Context of the kubeconfig (default: the current one; then --name is required)'),
      kubeconfig: text('--kubeconfig <file>', 'Kubeconfig (default: $KUBECONFIG, or ~/.kube/config)'),
      labels: text('--labels <name=value,...>', 'Labels of the Secret, separated by commas'),
      annotations: text('--annotations <name=value,...>', 'Annotations of the Secret, separated by commas'),
      dryRun: flag('--dry-run', 'Show what would be added, without its token, and send nothing'),
      ...message,
      ...url,
      ...output,
    },
    examples: ['windlass gitops cluster add prod --context staging-eu --labels team=shop'],
    run: async (invocation) => (await import('./cluster-action.ts')).addCluster(invocation),
  }),
  command('gitops cluster create-argo-rollouts', {
    summary: 'Install Argo Rollouts in a cluster of a GitOps runtime, or another version of it',
    about:
      'One commit in your name writes an application into the shared configuration repository, and Argo CD installs the chart of Argo Rollouts in the cluster. What later calls do not name stays. The values ' +
      'are in Git, so they must not have secrets.',
    arguments: [...runtime, { name: '[name]', summary: 'Name of the cluster, or in-cluster, unless --server-url names it' }],
    options: {
      serverUrl: text('--server-url <url>', 'URL of the API server of the cluster'),
      namespace: text('--namespace <name>', 'Namespace of the controller, which is created (default: argo-rollouts)'),
      chart: text('--chart <url>', 'Chart: https://HOST/PATH/NAME or oci://HOST/PATH/NAME (default: that of the project)'),
      version: text('--version <version>', 'Version of the chart'),
      values: text('--values <file>', 'Values of the chart'),
      ...message,
      ...url,
      ...output,
    },
    examples: [
      'windlass gitops cluster create-argo-rollouts prod staging-eu',
      'windlass gitops cluster create-argo-rollouts prod in-cluster --chart oci://registry.example.com/charts/argo-rollouts --version 2.41.1',
    ],
    run: async (invocation) => (await import('./argo-rollouts-action.ts')).createArgoRollouts(invocation),
  }),
  command('gitops cluster remove', {
    summary: 'Remove a managed cluster from a GitOps runtime; what runs there stays',
    arguments: [...runtime, { name: '[name]', summary: 'Name of the cluster, unless --server-url names it' }],
    options: { serverUrl: text('--server-url <url>', 'URL of the API server of the cluster'), ...url },
    examples: ['windlass gitops cluster remove prod staging-eu'],
    run: async (invocation) => (await import('./cluster-action.ts')).removeCluster(invocation),
  }),
]

export const gitopsRepositoryCommands = [...configCommands, ...chartCommands, ...gitSourceCommands, ...clusterCommands]
