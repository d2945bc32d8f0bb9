/** Commands that list, show and delete resources. */
import { command, flag, integer, oneOf, text } from '../../command.ts'
import { KIND_NAMES } from '../../kind-names.ts'
import { OUTPUT_FORMATS } from '../../output-formats.ts'
import { buildFilterOptions } from './build-filters.ts'

/** Builds, releases and jobs of GitLab are kept until their retention ends, a tunnel until its runtime is deleted, and what a GitOps runtime reports until it reports its end. */
const DELETABLE_KINDS = KIND_NAMES.filter(
  (name) => !['builds', 'gitlab-jobs', 'tunnels', 'applications', 'rollouts', 'workflows', 'releases'].includes(name),
)

export const getCommands = [
  command('get', {
    summary: 'List resources, or show one by name',
    arguments: [
      { name: '<kind>', summary: 'Kind of resource', choices: KIND_NAMES },
      {
        name: '[name]',
        summary:
          'Name of the resource (builds, GitLab jobs, deliveries, messages, releases: id; triggers: PIPELINE#NAME; applications, rollouts, workflows: RUNTIME/NAMESPACE/NAME)',
      },
    ],
    options: {
      output: oneOf('-o, --output <format>', 'Output format (default: a table)', OUTPUT_FORMATS),
      noHeaders: flag('--no-headers', 'Omit the header of the table'),
      limit: integer(
        '--limit <count>',
        'Maximum number of resources (default: 20 builds, GitLab jobs, workflows, deliveries, messages or releases, all of any other kind)',
      ),
      ...buildFilterOptions,
      runner: text('--runner <name>', 'GitLab jobs: filter by runner'),
      webhook: text('--webhook <name>', 'Deliveries: filter by webhook'),
      repo: text('--repo <owner/name>', 'Deliveries: filter by repository'),
      sync: text('--sync <state>', 'Applications: filter by sync state, such as out-of-sync'),
      product: text('--product <name>', 'Releases: filter by product'),
      view: text(
        '--view <name>',
        'Builds: use the filters of a view; other filters are added, and replace those of the same name',
      ),
      versions: flag('--versions', 'Step types: list all versions of the named one'),
      history: flag('--history', 'Pipelines: list the versions of the named one, with who changed it and why'),
      version: integer('--version <number>', 'Pipelines: show this version of the named one'),
    },
    examples: [
      'windlass get builds --pipeline demo/app',
      'windlass get builds --initiator mira --status error --since 7d',
      'windlass get builds --count-by status',
      'windlass get pipelines -o name',
      'windlass get pipelines demo/app --history',
      'windlass get runtimes local -o yaml',
      'windlass get gitlab-jobs --status running',
      'windlass get disks --runtime prod --status warm',
      'windlass get applications --runtime prod --sync out-of-sync',
      'windlass get rollouts --status paused',
      'windlass get releases --product shop',
    ],
    run: async (invocation) => (await import('./action.ts')).getResources(invocation),
  }),
  command('describe build', {
    summary: 'Show the details of a build: steps, attempts, and why it waits or failed',
    arguments: [{ name: '<build>', summary: 'Id of a build' }],
    options: { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) },
    run: async (invocation) => (await import('./describe.ts')).describeBuild(invocation),
  }),
  command('delete', {
    summary: 'Delete a resource',
    arguments: [
      { name: '<kind>', summary: 'Kind of resource', choices: DELETABLE_KINDS },
      {
        name: '<name>',
        summary:
          'Name of the resource (keys and sessions: id; disks: id or name; step types: name:version; triggers: PIPELINE#NAME)',
      },
    ],
    options: {
      force: flag(
        '--force',
        'Agents: treat their cluster as destroyed and run its builds again elsewhere; runtimes: delete even the default one or one with lost attempts',
      ),
    },
    run: async (invocation) => (await import('./action.ts')).deleteResource(invocation),
  }),
]
