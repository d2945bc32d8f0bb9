/** Commands for applications as files in Git sources: each change is a commit of the caller, which Argo CD applies. */
import { command, flag, grouped, integer, oneOf, optionalBoolean, text, texts } from '../../command.ts'

const application = [
  { name: '<runtime>', summary: 'Name of the GitOps runtime' },
  { name: '<name>', summary: 'Name of the application' },
]

/** Options of a form. */
const fields = {
  ...grouped('Source', {
    repo: text('--repo <url>', 'Repository: of Git, of Helm charts, or oci://…'),
    path: text('--path <folder>', 'Folder in the repository'),
    revision: text('--revision <revision>', 'Branch, tag or commit, or version of the chart (default: HEAD)'),
    chart: text('--chart <name>', 'Chart of a Helm repository, instead of a folder'),
    values: texts('--values <file>', 'File of Helm values, from the folder; can be repeated'),
    helmSet: texts('--helm-set <name=value>', 'Parameter of Helm, NAME- removes it; can be repeated'),
    helmSetString: texts('--helm-set-string <name=value>', 'Like --helm-set, for a value that is always a text; can be repeated'),
    releaseName: text('--release-name <name>', 'Name of the Helm release (default: that of the application)'),
    directoryRecurse: optionalBoolean('--directory-recurse', 'Apply the folders in the folder too'),
  }),
  ...grouped('Destination', {
    destNamespace: text('--dest-namespace <name>', 'Namespace into which it deploys'),
    destServer: text('--dest-server <url>', 'URL of the cluster (default for a new one: the cluster of the runtime)'),
    destName: text('--dest-name <name>', 'Name of the cluster at Argo CD, instead of its URL'),
  }),
  ...grouped('Sync', {
    syncPolicy: oneOf('--sync-policy <who>', 'Who syncs it: Argo CD or people (default for a new one: manual)', [
      'automatic',
      'manual',
    ]),
    autoPrune: optionalBoolean('--auto-prune', 'Automatic syncs delete what Git does not have anymore'),
    selfHeal: optionalBoolean('--self-heal', 'Automatic syncs undo changes in the cluster'),
    allowEmpty: optionalBoolean('--allow-empty', 'Automatic syncs may delete everything'),
    syncOption: texts('--sync-option <name=value>', 'Option of Argo CD, such as CreateNamespace=true; can be repeated'),
    syncRetryLimit: integer('--sync-retry-limit <count>', 'How often a failed sync is tried again'),
  }),
  project: text('--project <name>', 'Project of Argo CD (default for a new one: default)'),
  label: texts('--label <name=value>', 'Label, NAME- removes it; can be repeated'),
  annotation: texts('--annotation <name=value>', 'Annotation, NAME- removes it; can be repeated'),
}
const committing = {
  gitSource: text('--git-source <name>', 'Git source with the file (default: the only one; for an edit the one that has it)'),
  message: text('-m, --message <text>', 'Message of the commit (default: what it does)'),
  wait: flag('--wait', 'Wait until Argo CD has applied the commit, and has synced the application if it does so by itself'),
  timeout: integer('--timeout <seconds>', 'Time to wait, in seconds (default: 600)'),
  runtimeUrl: text('--runtime-url <url>', 'URL of the runtime (default: that of its tunnel)'),
  output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']),
}

export const gitopsApplicationFileCommands = [
  command('gitops app create', {
    summary: 'Create an application: commit its manifest to a Git source of the runtime',
    about:
      'The runtime checks the manifest and commits it in your name, with your Git token. Argo CD applies it; nothing is written to the cluster. The manifest comes from options, or from a file with --file. ' +
      'Repeating the command makes no further commit.',
    arguments: application,
    options: {
      ...fields,
      file: text('-f, --file <file>', 'Manifest, instead of options; - is standard input'),
      gitFile: text('--git-file <path>', 'Path of the new file in the Git source (default: NAME.yaml)'),
      dryRun: flag('--dry-run', 'Check and print the manifest, and commit nothing'),
      ...committing,
    },
    examples: [
      'windlass gitops app create prod shop --repo https://git.example.com/acme/shop.git --path deploy --dest-namespace shop --sync-policy automatic --wait',
      'windlass gitops app create prod shop --file shop.yaml --git-source apps --dry-run',
    ],
    run: async (invocation) => (await import('./create-action.ts')).createApplication(invocation),
  }),
  command('gitops app edit', {
    summary: 'Change an application: commit a change of its manifest in the Git source that has it',
    about:
      'Shows the difference and asks before the commit. Options change only their fields; comments and the order of the file stay, and so do commits of others that came meanwhile. An empty value removes a field. ' +
      'Without options $VISUAL or $EDITOR opens the manifest. Name and Git source never change.',
    arguments: application,
    options: {
      ...fields,
      file: text('-f, --file <file>', 'The wanted manifest; only fields that differ are written; - is standard input'),
      dryRun: flag('--dry-run', 'Print the difference, and commit nothing'),
      yes: flag('-y, --yes', 'Do not ask; required without a terminal'),
      ...committing,
    },
    examples: [
      'windlass gitops app edit prod shop --revision v2.1.0 --helm-set image.tag=v2.1.0 --yes --wait',
      'windlass gitops app edit prod shop',
    ],
    run: async (invocation) => (await import('./edit-action.ts')).editApplication(invocation),
  }),
]
