/** Commands for links to logs and badges. */
import { command, integer, oneOf } from '../../command.ts'

const output = oneOf('-o, --output <format>', 'Output format', ['json'])

export const linkCommands = [
  command('share build', {
    summary: 'Print a link that shows the status and log of a build without an account',
    about:
      'Any person who has the link can read the log until the link ends. `windlass get links` lists links, and `windlass delete link ID` ends one.',
    arguments: [{ name: '<build>', summary: 'Id of a build' }],
    options: { days: integer('--days <days>', 'The link ends after this number of days, at most 90 (default: 7)'), output },
    examples: ['windlass share build 65f0c1d2a3b4c5d6e7f80912 --days 2'],
    run: async (invocation) => (await import('./action.ts')).shareBuild(invocation),
  }),
  command('share badge', {
    summary: 'Print the address of the badge of a pipeline that is not public',
    about: 'Any person who has the address sees the status of the latest build. Add &branch=NAME for one branch.',
    arguments: [{ name: '<pipeline>', summary: 'Name or id of the pipeline' }],
    options: { days: integer('--days <days>', 'The address ends after this number of days (default: never)'), output },
    examples: ['windlass share badge demo/app'],
    run: async (invocation) => (await import('./action.ts')).shareBadge(invocation),
  }),
]
