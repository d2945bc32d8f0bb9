/** Commands for the applications of a GitOps runtime. They call the runtime itself, which asks Argo CD. `get applications` shows what reporters report. */
import { command, flag, integer, oneOf, text, texts } from '../../command.ts'
import { gitopsApplicationFileCommands } from '../gitops-application-files/command.ts'
import { gitopsRolloutCommands } from '../gitops-rollouts/command.ts'

const runtime = [{ name: '<runtime>', summary: 'Name of the GitOps runtime' }]
const application = [...runtime, { name: '<name>', summary: 'Name of the application' }]
const url = { runtimeUrl: text('--runtime-url <url>', 'URL of the runtime (default: that of its tunnel)') }
const output = { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) }
const waiting = {
  wait: flag('--wait', 'Wait until the operation ends; exit code 1 if it fails'),
  timeout: integer('--timeout <seconds>', 'Time to wait, in seconds (default: 600)'),
}
const prune = flag('--prune', 'Delete objects that the source does not have anymore')
const dryRun = flag('--dry-run', 'Let Argo CD check what it would apply, and change nothing')

const reading = [
  command('gitops app list', {
    summary: 'List the applications of Argo CD in a GitOps runtime',
    arguments: runtime,
    options: { ...url, ...output },
    examples: ['windlass gitops app list prod'],
    run: async (invocation) => (await import('./show.ts')).listApplications(invocation),
  }),
  command('gitops app get', {
    summary: 'Show an application: its states, objects, last sync and history',
    arguments: application,
    options: { ...url, ...output },
    examples: ['windlass gitops app get prod shop'],
    run: async (invocation) => (await import('./show.ts')).getApplication(invocation),
  }),
  command('gitops app tree', {
    summary: 'Show the objects of an application, and those that they have created',
    arguments: application,
    options: { ...url, ...output },
    examples: ['windlass gitops app tree prod shop'],
    run: async (invocation) => (await import('./objects.ts')).showTree(invocation),
  }),
  command('gitops app diff', {
    summary: 'Show what a sync of an application would change; exit code 1 if there is something',
    about: 'Argo CD compares the source with the cluster. Values of Secrets are hidden.',
    arguments: application,
    options: { refresh: flag('--refresh', 'Compare again first'), ...url, ...output },
    examples: ['windlass gitops app diff prod shop --refresh'],
    run: async (invocation) => (await import('./objects.ts')).showDiff(invocation),
  }),
  command('gitops app logs', {
    summary: 'Show the log of a pod of an application',
    arguments: [...application, { name: '<pod>', summary: 'NAMESPACE/NAME' }],
    options: {
      container: text('-c, --container <name>', 'Container (default: that of the pod)'),
      tail: integer('--tail <lines>', 'Number of lines from the end (default: 500)'),
      since: integer('--since <seconds>', 'Show only lines that are not older'),
      follow: flag('-f, --follow', 'Show new lines until Ctrl-C'),
      timestamps: flag('--timestamps', 'Show the time of each line'),
      previous: flag('--previous', 'Show the log of the container before its last restart'),
      ...url,
    },
    examples: [
      'windlass gitops app logs prod shop shop/api-7c9f8d-x2x4k',
      'windlass gitops app logs prod shop shop/api-7c9f8d-x2x4k -f --since 300',
    ],
    run: async (invocation) => (await import('./logs.ts')).showLogs(invocation),
  }),
  command('gitops app manifest', {
    summary: 'Show an object of an application as the cluster has it; values of Secrets are hidden',
    arguments: [...application, { name: '<object>', summary: 'KIND/NAMESPACE/NAME, see `gitops app tree`' }],
    options: { ...url, ...output },
    examples: ['windlass gitops app manifest prod shop Deployment/shop/api'],
    run: async (invocation) => (await import('./objects.ts')).showManifest(invocation),
  }),
  command('gitops app events', {
    summary: 'Show the events of an application, or of one of its objects',
    arguments: [...application, { name: '[object]', summary: 'KIND/NAMESPACE/NAME, see `gitops app tree`' }],
    options: { ...url, ...output },
    examples: ['windlass gitops app events prod shop Deployment/shop/api'],
    run: async (invocation) => (await import('./objects.ts')).showEvents(invocation),
  }),
]

const operations = [
  command('gitops app sync', {
    summary: 'Let Argo CD apply the source of an application',
    arguments: application,
    options: {
      revision: text('--revision <revision>', 'Branch, tag or commit (default: what the application follows)'),
      prune,
      dryRun,
      force: flag('--force', 'Delete and create objects that cannot be changed'),
      applyOnly: flag('--apply-only', 'Run no hooks'),
      option: texts('--option <name=value>', 'Sync option of Argo CD, such as CreateNamespace=true; can be repeated'),
      resource: texts(
        '--resource <kind/namespace/name>',
        'Object to sync, with * as wildcard; KIND.GROUP if several groups have the kind; can be repeated (default: all, with hooks)',
      ),
      outOfSync: flag('--out-of-sync', 'Sync only the objects that differ'),
      retryLimit: integer('--retry-limit <count>', 'Number of further tries if it fails (default: that of the application)'),
      ...waiting,
      ...url,
      ...output,
    },
    examples: [
      'windlass gitops app sync prod shop --prune --wait',
      'windlass gitops app sync prod shop --resource Deployment/shop/api --resource ConfigMap/shop/*',
    ],
    run: async (invocation) => (await import('./operations.ts')).syncApplication(invocation),
  }),
  command('gitops app rollback', {
    summary: 'Let Argo CD apply an earlier deployment of an application',
    about:
      'The application must not sync automatically, because Argo CD would undo the rollback. `gitops app get` lists its history, which has its last deployments.',
    arguments: application,
    options: {
      id: integer('--id <number>', 'Deployment of the history (default: the one before the last)'),
      prune,
      dryRun,
      ...waiting,
      ...url,
      ...output,
    },
    examples: ['windlass gitops app rollback prod shop --id 3 --wait'],
    run: async (invocation) => (await import('./operations.ts')).rollBack(invocation),
  }),
  command('gitops app refresh', {
    summary: 'Let Argo CD compare an application with its source, and wait for the result',
    arguments: application,
    options: { hard: flag('--hard', 'Load the manifests again, also of the same commit'), ...url, ...output },
    examples: ['windlass gitops app refresh prod shop --hard'],
    run: async (invocation) => (await import('./operations.ts')).refreshApplication(invocation),
  }),
  command('gitops app terminate', {
    summary: 'End the sync of an application that runs',
    arguments: application,
    options: { ...waiting, ...url, ...output },
    examples: ['windlass gitops app terminate prod shop'],
    run: async (invocation) => (await import('./operations.ts')).terminateSync(invocation),
  }),
  command('gitops app delete', {
    summary: 'Delete an application, by default with its objects',
    about:
      'An application that a Git source applies comes back: delete its file in Git instead. With --cascade none the objects stay.',
    arguments: application,
    options: {
      cascade: oneOf('--cascade <how>', 'What happens to its objects (default: foreground)', [
        'foreground',
        'background',
        'none',
      ]),
      yes: flag('-y, --yes', 'Do not ask'),
      ...url,
    },
    examples: ['windlass gitops app delete prod shop --cascade none --yes'],
    run: async (invocation) => (await import('./operations.ts')).deleteApplication(invocation),
  }),
  command('gitops app delete-resource', {
    summary: 'Delete an object of an application; a later sync creates it again if the source has it',
    arguments: [...application, { name: '<object>', summary: 'KIND/NAMESPACE/NAME, see `gitops app tree`' }],
    options: url,
    examples: ['windlass gitops app delete-resource prod shop Pod/shop/api-7c9f8d-x2x4k'],
    run: async (invocation) => (await import('./operations.ts')).deleteResource(invocation),
  }),
]

export const gitopsApplicationCommands = [...reading, ...gitopsApplicationFileCommands, ...operations, ...gitopsRolloutCommands]
