/** Commands over all builds: the queue, approvals and search; and the builds that belong to one. */
import { command, integer, oneOf, text } from '../../command.ts'

export const queueCommands = [
  command('get queue', {
    summary: 'Show why builds wait: the causes, what holds each limit, and which builds start first',
    options: { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) },
    examples: ['windlass get queue', 'windlass get queue -o json'],
    run: async (invocation) => (await import('./action.ts')).showQueue(invocation),
  }),
  command('get approvals', {
    summary: 'List the approvals of all builds, the ones that expire first at the beginning',
    options: {
      state: oneOf('--state <state>', 'Open approvals (default), or decided ones, newest first', ['open', 'decided']),
      limit: integer('--limit <count>', 'Maximum number of approvals (default: 50)'),
      output: oneOf('-o, --output <format>', 'Output format (default: a table)', ['json', 'yaml', 'name']),
    },
    about: '`-o name` prints the arguments of `windlass approve`, one approval per line.',
    examples: [
      'windlass get approvals',
      'windlass get approvals --state decided -o json',
      'windlass get approvals -o name | head -1 | xargs -r windlass approve',
    ],
    run: async (invocation) => (await import('./approvals.ts')).listApprovals(invocation),
  }),
  command('get related', {
    summary: 'List the builds that belong to a build: parent, children, repetitions, and its neighbors on the branch',
    arguments: [{ name: '<build>', summary: 'Id of a build' }],
    options: { output: oneOf('-o, --output <format>', 'Output format (default: a table)', ['json', 'yaml']) },
    run: async (invocation) => (await import('./related.ts')).listRelated(invocation),
  }),
  command('get usage', {
    summary: 'Show how long each phase of the steps of a build took, and the memory and processors that they used',
    arguments: [{ name: '<build>', summary: 'Id of a build' }],
    options: {
      step: text('--step <name>', 'Show only this step, with its values over time'),
      output: oneOf('-o, --output <format>', 'Output format (default: a table)', ['json', 'yaml']),
    },
    examples: ['windlass get usage 65f0c1d2a3b4c5d6e7f80912', 'windlass get usage 65f0c1d2a3b4c5d6e7f80912 --step unit_tests'],
    run: async (invocation) => (await import('./usage.ts')).showUsage(invocation),
  }),
  command('diff builds', {
    summary: 'Compare a build with another one: commit, document, variables, images, runtime and steps',
    arguments: [
      { name: '<build>', summary: 'Id of a build' },
      { name: '[other]', summary: 'Id of the build to compare with (default: the last successful one of the branch before it)' },
    ],
    options: { output: oneOf('-o, --output <format>', 'Output format (default: text)', ['json', 'yaml']) },
    examples: [
      'windlass diff builds 65f0c1d2a3b4c5d6e7f80912',
      'windlass diff builds 65f0c1d2a3b4c5d6e7f80912 65f0c1d2a3b4c5d6e7f80911',
    ],
    run: async (invocation) => (await import('./diff-builds.ts')).diffBuilds(invocation),
  }),
  command('search', {
    summary: 'Find builds by number or commit, and pipelines, projects, runtimes and contexts by a part of their names',
    arguments: [{ name: '<text>', summary: 'A part of a name, the start of a commit, or the number of a build' }],
    options: {
      limit: integer('--limit <count>', 'Maximum number of results (default: 12)'),
      output: oneOf('-o, --output <format>', 'Output format (default: a table)', ['json', 'yaml']),
    },
    examples: ['windlass search tax', "windlass search '#1284'", 'windlass search 3f2a91c'],
    run: async (invocation) => (await import('./search.ts')).searchAll(invocation),
  }),
]
